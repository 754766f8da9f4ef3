"""Running a component inside its span, with the events that say so."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spanwise.components.base import Kind
from spanwise.components.call import content_type_of, requirements_name, result_of

if TYPE_CHECKING:
    from spanwise.components.base import Component, Outcome
    from spanwise.components.call import Call

FAILURE = "the component failed; the trace of the run and the log have the cause"
"""What callers read of a failure. Its message stands in the trace and in the log."""

_SPAN_KINDS = {Kind.AGENT: "AGENT", Kind.TEAM: "AGENT", Kind.WORKFLOW: "CHAIN"}


async def perform(component: Component, call: Call) -> Outcome:
    """Returns what became of one call of a component. How it ends is for the caller to say.

    Raises:
        Exception: what escaped the component.
    """
    if not call.is_continued:
        call.emit(component, "*Started", model=component.model)
    elif component.kind is not Kind.WORKFLOW:
        call.emit(component, "*Continued")
    name = (component.name or component.id).replace(" ", "_").replace("-", "_")
    attributes = {f"agno.{component.kind}.id": component.id, "agno.run.id": call.run_id, **_more_of(component)}
    with call.spans.span(f"{name}.run", _SPAN_KINDS[component.kind], call.message, attributes) as span:
        outcome = await component.execute(replace(call, db=component.db))
        span.output(outcome.text)
    return outcome


async def perform_inside(component: Component, call: Call) -> Outcome:
    """Returns what became of a component that is a part of another; emits how it ended.

    Raises:
        Exception: what escaped the component.
    """
    try:
        outcome = await perform(component, call)
    except asyncio.CancelledError:
        call.emit(component, "*Cancelled", reason="the run was cancelled")
        raise
    except Exception:
        emit_failure(component, call)
        raise
    emit_end(component, call, outcome)
    return outcome


def emit_end(component: Component, call: Call, outcome: Outcome, **members: object) -> None:
    """Emits that a call paused, or that it is complete."""
    content_type = content_type_of(outcome.content)
    if outcome.pause is not None:
        asked = {requirements_name(component.kind): outcome.pause.requirements}
        call.emit(component, "*Paused", content=outcome.content, **asked, **outcome.parts, **members)
    else:
        call.emit(
            component, "*Completed", content=outcome.content, content_type=content_type, **outcome.parts, **members
        )


def emit_failure(component: Component, call: Call, **members: object) -> None:
    """Emits that a call failed, without saying why."""
    key = "error" if component.kind is Kind.WORKFLOW else "content"
    call.emit(component, "*Error", **{key: FAILURE}, **members)


def response_of(component: Component, call: Call, outcome: Outcome) -> dict[str, Any]:
    """Returns the result of a part, as it stands in the result of the whole."""
    return result_of(component, call, outcome, "COMPLETED" if outcome.pause is None else "PAUSED")


def _more_of(component: Component) -> dict[str, Any]:
    if component.kind is not Kind.WORKFLOW:
        return {"llm.model_name": component.model} if component.model else {}
    steps = component.describe().get("steps", [])
    return {
        "agno.workflow.steps_count": len(steps),
        "agno.workflow.steps": [step["name"] for step in steps],
        "agno.workflow.step_types": [step["type"] for step in steps],
        **({"agno.workflow.description": component.description} if component.description else {}),
    }
