"""Agents without a service: callables, generators, errors and pauses."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from spanwise.components import Agent, Call, Pause
from spanwise.errors import ComponentError
from support.in_process.components import Recorder, Shouting, ask, raising, twice, upper

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


async def twice_async(message: str) -> AsyncIterator[str]:
    yield message
    yield message


async def who(message: str, call: Call) -> str:
    await asyncio.sleep(0)
    return f"{message} {call.user_id}"


@pytest.mark.parametrize(
    ("function", "pieces"),
    [(upper, ["HI"]), (twice, ["hi", "hi"]), (twice_async, ["hi", "hi"]), (who, ["hi u"]), (Shouting(), ["hi!"])],
)
def test_an_agent_is_any_callable(function: Any, pieces: list[str]) -> None:
    seen = Recorder()
    assert seen.run(Agent(function, id="a")).content == "".join(pieces)
    assert [event["content"] for event in seen.events if event["event"] == "RunContent"] == pieces
    assert (seen.names[0], seen.names[-1]) == ("RunStarted", "RunContentCompleted")
    assert all(event["agent_id"] == "a" for event in seen.events)


def test_an_agent_may_return_an_object() -> None:
    assert Recorder().run(Agent(lambda _: {"n": 1}, id="a")).text == '{"n":1}'


@pytest.mark.parametrize("function", [lambda: 1, lambda a, b, c: (a, b, c), "text", lambda a, *, b: (a, b)])
def test_a_function_without_a_message_parameter_is_rejected(function: Any) -> None:
    with pytest.raises(TypeError):
        Agent(function)


def test_a_function_may_pause_too() -> None:
    def decide(message: str, call: Call) -> object:
        return f"{message} {call.answers[0]['n']}" if call.is_continued else Pause([{"n": None}])

    seen, agent = Recorder(), Agent(decide, id="a")
    assert seen.resume(agent, seen.run(agent), {"n": 1}).content == "hi 1"


@pytest.mark.parametrize(
    "error", [ValueError("x"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()], ids=repr
)
def test_what_a_callable_raises_ends_only_its_run(error: BaseException) -> None:
    for function in raising(error):
        with pytest.raises(Exception, match=r".*"):
            Recorder().run(Agent(function, id="a"))


@pytest.mark.parametrize("yielded", [1, None, object()])
def test_a_generator_yields_text_or_a_pause(yielded: object) -> None:
    def run(_message: str) -> Iterator[object]:
        yield yielded

    with pytest.raises(ComponentError, match="expected text or a pause"):
        Recorder().run(Agent(run, id="a"))


def test_an_agent_pauses_and_resumes() -> None:
    seen, agent = Recorder(), Agent(ask, id="a")
    paused = seen.run(agent)
    assert paused.pause is not None
    assert paused.pause.requirements[0]["question"] == "sure?"
    assert paused.pause.requirements[0]["id"]
    assert seen.resume(agent, paused, {"confirmation": True}).content == "hi: True, kept"
    assert "RunContinued" in seen.names


@pytest.mark.parametrize(("requirements", "state"), [([], None), ([{"a": object()}], None), ([{}], object())])
def test_a_pause_must_be_json(requirements: Any, state: object) -> None:
    with pytest.raises(ValueError, match="a pause"):
        Pause(requirements, state)
