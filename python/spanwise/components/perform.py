"""Running a component inside its span, with the events that say so."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spanwise.components.adapters.base import Adapted
from spanwise.components.base import Kind
from spanwise.components.call import content_type_of, requirements_name, result_of
from spanwise.errors import ComponentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.components.base import Component, Outcome
    from spanwise.components.call import Call, OpenSpan

FAILURE = "the component failed; the trace of the run and the log have the cause"
"""What callers read of a failure. Its message stands in the trace and in the log."""

_SPAN_KINDS = {Kind.AGENT: "AGENT", Kind.TEAM: "AGENT", Kind.WORKFLOW: "CHAIN"}


async def perform(component: Component, call: Call) -> Outcome:
    """Returns what became of one call of a component. How it ends is for the caller to say.

    Raises:
        Exception: what escaped the component.
    """
    if not (isinstance(component, Adapted) and component.tells):
        _emit_beginning(component, call)
    with _span_of(component, call) as span:
        outcome = await component.execute(replace(call, db=component.db))
        span.output(outcome.text)
    return outcome


def _emit_beginning(component: Component, call: Call) -> None:
    if not call.is_continued:
        call.emit(component, "*Started", model=component.model)
    elif component.kind is not Kind.WORKFLOW:
        call.emit(component, "*Continued")


@contextmanager
def _span_of(component: Component, call: Call) -> Iterator[OpenSpan]:
    """Opens the span of a call. Inside an adapted component, spans that instrumentors make go to the run as well."""
    attributes = {f"agno.{component.kind}.id": component.id, "agno.run.id": call.run_id}
    if isinstance(component, Adapted) and component.makes_root(call):
        with call.spans.instrumented(attributes) as span:
            yield span
        return
    name = (component.name or component.id).replace(" ", "_").replace("-", "_")
    described = {**attributes, **_more_of(component)}
    guests = call.spans.instrumented({}) if isinstance(component, Adapted) else nullcontext()
    with call.spans.span(f"{name}.run", _SPAN_KINDS[component.kind], call.message, described) as span, guests:
        yield span


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
    except Exception:  # whatever the part raised is passed on
        emit_failure(component, call)
        raise
    emit_end(component, call, outcome)
    if outcome.status in {"ERROR", "CANCELLED"}:
        failure = outcome.told.failure if outcome.told is not None else None
        raise ComponentError(f"{component.kind} `{component.id}` ended as {outcome.status}: {failure}")
    return outcome


def emit_end(component: Component, call: Call, outcome: Outcome, **members: Any) -> None:  # noqa: ANN401  # as `Call.emit`
    """Emits that a call paused, or that it is complete; what an adapted framework says of that, if it is one's."""
    if outcome.told is not None:
        metadata = {**(outcome.told.event.get("metadata") or {}), **members.pop("metadata", {})}
        call.pass_on({**members, **outcome.told.event, **({"metadata": metadata} if metadata else {})})
        return
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
    return result_of(component, call, outcome, outcome.status)


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
