"""The protocol of a component, and the call that a component executes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from uuid import uuid4

from spanwise.components.base import Kind
from spanwise.components.content import plain
from spanwise.components.events import event_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractContextManager

    from spanwise.components.base import Outcome


@runtime_checkable
class Component(Protocol):
    """A runnable object.

    Attributes:
        kind: the kind of component.
        id: its id in URL paths; a factory's product gets the factory's.
        name: its name, for people.
        description: its purpose, for people.
        db: its own database; the service does not use it.
        store_events: whether the results of its runs include their events.
        model: the name of its model, if it has one.
    """

    kind: Kind
    id: str
    name: str | None
    description: str | None
    db: Any
    store_events: bool
    model: str | None

    def initialize(self) -> None:
        """Prepares the component. Called once, before its first run."""
        ...

    def describe(self) -> dict[str, Any]:
        """Returns the members of a listing entry besides id, name and description, as a JSON object."""
        ...

    async def execute(self, call: Call) -> Outcome:
        """Runs the component, or resumes it after a pause."""
        ...


@dataclass(frozen=True, kw_only=True)
class PausedPart:
    """A paused part of a component: the member of a team, or the executor of a step.

    Attributes:
        component: the part.
        state: its state from the pause.
        requirement_ids: the ids of its own requirements; None for all requirements.
    """

    component: Component
    state: Any
    requirement_ids: tuple[str, ...] | None = None


@runtime_checkable
class Composite(Protocol):
    """A component that pauses when its parts do."""

    def paused_parts(self, state: Any) -> list[PausedPart]:  # noqa: ANN401  # any JSON
        """Returns the parts that wait for answers; empty if the component itself paused.

        Args:
            state: its state from the pause.
        """
        ...


class OpenSpan(Protocol):
    """A span that has not ended."""

    def output(self, content: str | None) -> None:
        """Sets the span's output."""
        ...

    def attribute(self, name: str, value: str | float) -> None:
        """Sets an attribute, such as the number of tokens."""
        ...


class SpanRecorder(Protocol):
    """Records the spans of one run."""

    def span(
        self, name: str, kind: str, content: str | None, attributes: Mapping[str, Any]
    ) -> AbstractContextManager[OpenSpan]:
        """Opens a span inside the current one until the block ends.

        Args:
            name: the span's name.
            kind: an OpenInference span kind.
            content: the span's input.
            attributes: further attributes.
        """
        ...

    def instrumented(self, attributes: Mapping[str, Any]) -> AbstractContextManager[OpenSpan]:
        """Records the spans that an instrumentor starts inside the block.

        Args:
            attributes: further attributes of the first of these spans.
        """
        ...


async def _return_at_once() -> None:
    """Returns at once."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """The input and context of one execution of a component.

    Attributes:
        message: the message.
        run_id: the id of this call; a team's member and a workflow's step have separate run ids.
        session_id: the session of the run.
        user_id: the caller; verified if authorization is on, otherwise from the request form.
        session_state: the session's state; changes are stored when the run ends.
        dependencies: the caller's dependencies for this run.
        metadata: the caller's notes on this run, which become part of the result.
        given_state: the part of `session_state` that the caller sent with this run.
        stored_state: the state of the session before the run; None if it had no state. A component whose own database
            stores the state starts with this and `given_state`.
        unique_session_id: a session id that is unique across users, for use in a component's own database; None if
            `session_id` is already unique. See docs/reference/api-sessions.md#session-owners.
        answers: the caller's answers to the requirements of a pause.
        state: the component's state from its pause.
        is_continued: whether the call resumes after a pause.
        stream: whether the caller asked for a stream; if not, an adapted framework may emit only the start and the end.
        db: the component's own database, if it has one.
        event_context: members for every event of this call, which locate it in the run.
        emit_event: receives each event.
        caught_up: returns once nearly all events so far are stored. A component that emits many events awaits it
            regularly.
        spans: records the spans of the run.
    """

    message: str
    run_id: str
    session_id: str
    user_id: str | None
    spans: SpanRecorder
    emit_event: Callable[[dict[str, Any]], None]
    session_state: dict[str, Any] = field(default_factory=dict)
    given_state: Mapping[str, Any] = field(default_factory=dict)
    stored_state: Mapping[str, Any] | None = None
    unique_session_id: str | None = None
    dependencies: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    answers: tuple[Mapping[str, Any], ...] = ()
    state: Any = None
    is_continued: bool = False
    stream: bool = False
    db: Any = None
    event_context: Mapping[str, Any] = field(default_factory=dict)
    caught_up: Callable[[], Awaitable[None]] = _return_at_once

    def span(self, name: str, kind: str = "TOOL", content: str | None = None) -> AbstractContextManager[OpenSpan]:
        """Opens a span in the run's trace until the block ends.

        Args:
            name: the span's name.
            kind: an OpenInference span kind: `TOOL`, `LLM`, `RETRIEVER`, ...
            content: the span's input.
        """
        return self.spans.span(name, kind, content, {})

    def emit(self, component: Component, event: str, **members: object) -> None:
        """Emits an event of `component`.

        Args:
            component: the component that emits the event.
            event: the event's name; `*` stands for the prefix of the component's kind.
            members: further members; members with the value None are omitted.

        Raises:
            ComponentError: a member cannot be represented as JSON.
        """
        body: dict[str, Any] = {
            "created_at": int(time.time()),
            "event": event_name(component.kind, event),
            f"{component.kind}_id": component.id,
            f"{component.kind}_name": component.name or component.id,
            "run_id": self.run_id,
            "session_id": self.session_id,
            "nested_depth": 0,
            **self.event_context,
        }
        body.update({key: plain(value) for key, value in members.items() if value is not None})
        self.emit_event(body)

    def emit_text(self, component: Component, text: object) -> None:
        """Emits a piece of the text of an agent or a team.

        Raises:
            ComponentError: it cannot be represented as JSON.
        """
        self.emit(component, "*Content", content=text, content_type="str")

    def forward(self, event: Mapping[str, Any]) -> None:
        """Emits an event of an adapted framework unchanged, with the event context of this call.

        An event of a nested run keeps its own context, because the framework knows it better.
        """
        if event.get("run_id", self.run_id) == self.run_id:
            self.emit_event({**event, **self.event_context})
        else:
            depth = event.get("nested_depth", 0) + self.event_context.get("nested_depth", 0)
            self.emit_event({**self.event_context, **event, "nested_depth": depth})

    def nested(self, component: Component, **event_context: object) -> Call:
        """Returns a new call for a part of `component`: a team's member, or a step's executor.

        Args:
            component: the component that this call executes.
            event_context: further members for the events of the part.
        """
        depth = self.event_context.get("nested_depth", 0) + 1
        context: dict[str, Any] = {**self.event_context, **event_context, "nested_depth": depth}
        context["parent_run_id"] = self.run_id
        if component.kind is Kind.WORKFLOW:
            context |= {"workflow_id": component.id, "workflow_run_id": self.run_id}
        has_state = bool(self.session_state) or self.stored_state is not None
        return replace(
            self,
            run_id=str(uuid4()),
            event_context=context,
            given_state={},
            stored_state=self.session_state if has_state else None,  # the state when the part starts
            answers=(),
            state=None,
            is_continued=False,
        )

    def with_message(self, message: str) -> Call:
        """Returns a copy of the call with another message."""
        return replace(self, message=message)

    def with_listener(self, emit_event: Callable[[dict[str, Any]], None]) -> Call:
        """Returns a copy of the call with another receiver of events."""
        return replace(self, emit_event=emit_event)

    def resumed(self, answers: tuple[Mapping[str, Any], ...], run_id: str, state: object) -> Call:
        """Returns the call that resumes after a pause.

        Args:
            answers: the caller's answers.
            run_id: the run id that the paused call had.
            state: the component's state from the pause.
        """
        return replace(self, answers=answers, run_id=run_id, state=state, is_continued=True)
