"""One call of a component: who asks for what, where its events go, and which span it is inside."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from spanwise.components.base import Kind, plain

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractContextManager

    from spanwise.components.base import Component, Outcome

_PREFIXES = {Kind.AGENT: "Run", Kind.TEAM: "TeamRun", Kind.WORKFLOW: "Workflow"}


async def _at_once() -> None:
    """Waits for nothing."""


class OpenSpan(Protocol):
    """A span that is under way."""

    def output(self, content: str | None) -> None:
        """Says what came out of it."""
        ...

    def attribute(self, name: str, value: str | float) -> None:
        """Says something more about it, such as the tokens it took."""
        ...


class Spans(Protocol):
    """Where the spans of one run go."""

    def span(
        self, name: str, kind: str, content: str | None, attributes: Mapping[str, Any]
    ) -> AbstractContextManager[OpenSpan]:
        """Opens a span inside the one that is open, until the block ends."""
        ...

    def instrumented(self, attributes: Mapping[str, Any]) -> AbstractContextManager[OpenSpan]:
        """Lets an instrumentor make the spans of the block; the first of them gets `attributes` as well."""
        ...


@dataclass(frozen=True, kw_only=True)
class Call:
    """What a component is called with.

    Attributes:
        message: what it is asked.
        run_id: this call; a member of a team and a step of a workflow have one of their own.
        session_id: the conversation it belongs to.
        user_id: who asks: verified where there is authorization, else what the form said.
        session_state: what the session remembers; changes are kept when the run ends.
        dependencies: what the caller gave the component for this run.
        metadata: what the caller says about this run; it stands in the result.
        given_state: the part of it that the caller gave with this run, for components whose own db has the rest.
        answers: what the caller answered to the requirements of a pause.
        state: what the component gave to its pause.
        is_continued: whether it goes on after a pause.
        db: the component's own database, if it has one.
        place: where this call stands in the run: what every event of it carries.
        emit_event: takes each event.
        caught_up: returns when the events so far are stored, or nearly. Who emits many waits for it now and then.
        spans: takes each span.
    """

    message: str
    run_id: str
    session_id: str
    user_id: str | None
    spans: Spans
    emit_event: Callable[[dict[str, Any]], None]
    session_state: dict[str, Any] = field(default_factory=dict)
    given_state: Mapping[str, Any] = field(default_factory=dict)
    dependencies: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[Mapping[str, Any], ...] = ()
    state: Any = None
    is_continued: bool = False
    db: Any = None
    place: Mapping[str, Any] = field(default_factory=dict)
    caught_up: Callable[[], Awaitable[None]] = _at_once

    def span(self, name: str, kind: str = "TOOL", content: str | None = None) -> AbstractContextManager[OpenSpan]:
        """Opens a span of the run's trace, until the block ends.

        Args:
            name: what is done.
            kind: `TOOL`, `LLM`, `RETRIEVER`, ... as OpenInference has them.
            content: what goes in.
        """
        return self.spans.span(name, kind, content, {})

    def emit(self, component: Component, event: str, **members: object) -> None:
        """Emits one event of `component`; members that are None are left out.

        Args:
            component: whose event it is.
            event: the name; a leading `*` stands for the prefix that the component's kind has.
            members: what the event says.
        """
        name = event.replace("*", _PREFIXES[component.kind])
        body: dict[str, Any] = {
            "created_at": int(time.time()),
            "event": name,
            f"{component.kind}_id": component.id,
            f"{component.kind}_name": component.name or component.id,
            "run_id": self.run_id,
            "session_id": self.session_id,
            "nested_depth": 0,
            **self.place,
        }
        body.update({key: plain(value) for key, value in members.items() if value is not None})
        self.emit_event(body)

    def pass_on(self, event: Mapping[str, Any]) -> None:
        """Emits an event of an adapted framework as it is, with the place of this call in the run."""
        self.emit_event(self.placed(event))

    def placed(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Returns an event of an adapted framework with the place of this call; its own parts know theirs better."""
        if event.get("run_id", self.run_id) == self.run_id:
            return {**event, **self.place}
        depth = event.get("nested_depth", 0) + self.place.get("nested_depth", 0)
        return {**self.place, **event, "nested_depth": depth}

    def inside(self, component: Component, **place: object) -> Call:
        """Returns the call for something inside `component`: a member, or what a step runs."""
        further: dict[str, Any] = {**self.place, **place, "nested_depth": self.place.get("nested_depth", 0) + 1}
        further["parent_run_id"] = self.run_id
        if component.kind is Kind.WORKFLOW:
            further |= {"workflow_id": component.id, "workflow_run_id": self.run_id}
        return replace(self, run_id=str(uuid4()), place=further, answers=(), state=None, is_continued=False)

    def asking(self, message: str) -> Call:
        """Returns the same call with another message."""
        return replace(self, message=message)

    def heard_by(self, emit_event: Callable[[dict[str, Any]], None]) -> Call:
        """Returns the same call, whose events go somewhere else."""
        return replace(self, emit_event=emit_event)

    def going_on(self, answers: tuple[Mapping[str, Any], ...], run_id: str, state: object) -> Call:
        """Returns the call that goes on after a pause, under the run id it had."""
        return replace(self, answers=answers, run_id=run_id, state=state, is_continued=True)


def result_of(component: Component, call: Call, outcome: Outcome, status: str) -> dict[str, Any]:
    """Returns the result of one call, as it stands in an answer and in the results of what contains it."""
    content = plain(outcome.content)
    identity = {
        "run_id": call.run_id,
        f"{component.kind}_id": component.id,
        f"{component.kind}_name": component.name or component.id,
        "session_id": call.session_id,
        "user_id": call.user_id,
        "parent_run_id": call.place.get("parent_run_id"),
    }
    result: dict[str, Any] = {
        **identity,
        "content": content,
        "content_type": content_type_of(outcome.content),
        "model": component.model,
        "created_at": int(time.time()),
        **_input_of(component, call.message),
        **outcome.parts,
        **({} if outcome.told is None else outcome.told.result),
        **identity,
        "status": status,
    }
    if outcome.pause is not None:
        result[requirements_name(component.kind)] = outcome.pause.requirements
    return {name: value for name, value in result.items() if value is not None}


def _input_of(component: Component, message: str) -> dict[str, Any]:
    return {"input": message if component.kind is Kind.WORKFLOW else {"input_content": message}}


def requirements_name(kind: Kind) -> str:
    """Returns the member that holds what a paused run waits for."""
    return "step_requirements" if kind is Kind.WORKFLOW else "requirements"


def content_type_of(content: object) -> str | None:
    """Returns the name of the type of a run's content."""
    return None if content is None else type(content).__name__
