"""Executes a component inside its span, and emits the events that report it."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spanwise.components.adapted import Adapted
from spanwise.components.base import Kind
from spanwise.components.content import content_type_of
from spanwise.components.events import failure_member, requirements_member
from spanwise.errors import ComponentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.components.base import Outcome
    from spanwise.components.call import Call, Component, OpenSpan

CANCELLED = "the run was cancelled"
"""The reason of a cancelled run."""
FAILURE = "the component failed; the trace of the run and the log have the cause"
"""The error message for callers. The original message goes only to the trace and the log."""

_SPAN_KINDS = {Kind.AGENT: "AGENT", Kind.TEAM: "AGENT", Kind.WORKFLOW: "CHAIN"}


async def execute(component: Component, call: Call) -> Outcome:
    """Executes a component inside its span and returns the outcome.

    Emits the start event. The caller emits the end event; see `emit_end` and `emit_failure`.

    Raises:
        Exception: any error of the component.
    """
    if not (isinstance(component, Adapted) and component.reports_outcome and call.stream):
        _emit_start(component, call)
    with _span(component, call) as span:
        outcome = await component.execute(replace(call, db=component.db))
        span.output(outcome.text)
    return outcome


def _emit_start(component: Component, call: Call) -> None:
    if not call.is_continued:
        call.emit(component, "*Started", model=component.model)
    elif component.kind is not Kind.WORKFLOW:
        call.emit(component, "*Continued")


@contextmanager
def _span(component: Component, call: Call) -> Iterator[OpenSpan]:
    """Opens the span of a call. Spans of an instrumentor become its children or replace it."""
    attributes = {f"agno.{component.kind}.id": component.id, "agno.run.id": call.run_id}
    if isinstance(component, Adapted) and component.instruments_root(call):
        with call.spans.instrumented(attributes) as span:
            yield span
        return
    name = (component.name or component.id).replace(" ", "_").replace("-", "_")
    described = {**attributes, **_description(component)}
    instrumented = call.spans.instrumented({}) if isinstance(component, Adapted) else nullcontext()
    with call.spans.span(f"{name}.run", _SPAN_KINDS[component.kind], call.message, described) as span, instrumented:
        yield span


def _description(component: Component) -> dict[str, Any]:
    """Returns the span attributes that describe a component."""
    if component.kind is not Kind.WORKFLOW:
        return {"llm.model_name": component.model} if component.model else {}
    steps = component.describe().get("steps", [])
    return {
        "agno.workflow.steps_count": len(steps),
        "agno.workflow.steps": [step["name"] for step in steps],
        "agno.workflow.step_types": [step["type"] for step in steps],
        **({"agno.workflow.description": component.description} if component.description else {}),
    }


async def execute_nested(component: Component, call: Call) -> Outcome:
    """Executes a component that is part of another one, and emits its end event.

    Raises:
        ComponentError: an adapted framework reported an error or a cancellation.
        Exception: any error of the component.
    """
    try:
        outcome = await execute(component, call)
    except asyncio.CancelledError:
        call.emit(component, "*Cancelled", reason=CANCELLED)
        raise
    except Exception:  # the component's own code runs here; its errors are passed on
        emit_failure(component, call)
        raise
    emit_end(component, call, outcome)
    if outcome.status in {"ERROR", "CANCELLED"}:
        failure = outcome.reported.failure if outcome.reported is not None else None
        raise ComponentError(f"{component.kind} `{component.id}` ended as {outcome.status}: {failure}")
    return outcome


def emit_end(component: Component, call: Call, outcome: Outcome, **members: Any) -> None:  # noqa: ANN401  # as `Call.emit`
    """Emits that a call completed or paused. Uses the reported event of an adapted framework if there is one.

    Args:
        component: the executed component.
        call: its call.
        outcome: its outcome.
        members: further members of the event; `metadata` is merged with the reported one.
    """
    if outcome.reported is not None:
        metadata = {**(outcome.reported.event.get("metadata") or {}), **members.pop("metadata", {})}
        call.forward({**members, **outcome.reported.event, **({"metadata": metadata} if metadata else {})})
        return
    if outcome.pause is not None:
        requirements = {requirements_member(component.kind): outcome.pause.requirements}
        call.emit(component, "*Paused", content=outcome.content, **requirements, **outcome.parts, **members)
    else:
        content_type = content_type_of(outcome.content)
        call.emit(
            component, "*Completed", content=outcome.content, content_type=content_type, **outcome.parts, **members
        )


def emit_failure(component: Component, call: Call) -> None:
    """Emits that a call failed, without its cause."""
    call.emit(component, "*Error", **{failure_member(component.kind): FAILURE})
