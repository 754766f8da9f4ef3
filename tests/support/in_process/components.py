"""Runs of components without a service: a recorder of events and spans, and functions to run."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from spanwise.components import Agent, Call, Component, Outcome, Pause
from spanwise.components.answers import PausedCall, check_answers
from spanwise.components.execution import execute

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


class Recorder:
    """Records the events of a component and the names of its spans."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.spans: list[tuple[str, str]] = []

    @contextmanager
    def span(self, name: str, kind: str, _content: str | None, _attributes: object) -> Iterator[Any]:
        self.spans.append((name, kind))
        yield self

    def instrumented(self, _attributes: object) -> NoReturn:
        raise AssertionError("our components make spans of their own")

    def output(self, content: str | None) -> None:
        assert content is None or isinstance(content, str)

    def attribute(self, name: str, value: str | float) -> None:
        """Ignores the output."""

    @property
    def names(self) -> list[str]:
        return [event["event"] for event in self.events]

    def call(self, message: str = "hi", **members: Any) -> Call:
        return Call(
            message=message,
            run_id="r",
            session_id="s",
            user_id="u",
            spans=self,
            emit_event=self.events.append,
            **members,
        )

    def run(self, component: Component, message: str = "hi", **members: Any) -> Outcome:
        return asyncio.run(execute(component, self.call(message, **members)))

    def resume(self, component: Component, paused: Outcome, *answers: dict[str, Any]) -> Outcome:
        assert paused.pause is not None
        state = msgspec.json.decode(msgspec.json.encode(paused.pause.state))  # the state survives a restart
        checking = check_answers(component, PausedCall(state, paused.pause.requirements), answers)
        return self.run(component, is_continued=True, state=state, answers=asyncio.run(checking))


def upper(message: str) -> str:
    return message.upper()


def twice(message: str) -> Iterator[str]:
    yield message
    yield message


def ask(message: str, call: Call) -> Iterator[object]:
    if call.is_continued:
        yield f"{message}: {call.answers[0]['confirmation']}, {call.state}"
    else:
        yield "wait"
        yield Pause([{"question": "sure?"}], state="kept")


def raising(error: BaseException) -> Any:
    def run(_message: str) -> str:
        raise error

    async def stream(_message: str) -> AsyncIterator[str]:
        yield "a"
        raise error

    return run, stream


class Shouting:
    def __call__(self, message: str) -> str:
        return message + "!"


def members() -> list[Component]:
    return [Agent(upper, id="upper"), Agent(twice, id="twice")]
