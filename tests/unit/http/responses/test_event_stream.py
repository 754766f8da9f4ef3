"""Event streams: their number, keep-alive and end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from spanwise.components import Kind
from spanwise.errors import UnavailableError
from spanwise.http.middleware.chunked_send import ChunkedSend
from spanwise.http.responses import event_stream as module
from spanwise.http.responses.budget import ResponseBudget
from spanwise.http.responses.event_stream import StreamLimit, content_only, frame
from spanwise.runs import RunEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

SCOPE: dict[str, Any] = {"type": "http", "asgi": {"spec_version": "2.3"}}


async def entries(*names: str) -> AsyncGenerator[RunEvent, None]:
    for index, name in enumerate(names):
        yield RunEvent(index, name, b"{}")


async def endless() -> AsyncGenerator[RunEvent, None]:
    while True:
        yield RunEvent(0, "RunContent", b"x" * 1024)
        await asyncio.sleep(0)


async def never() -> Any:
    await asyncio.Event().wait()


def sent_by(response: Callable[..., Awaitable[None]], seconds: float = 5.0) -> list[bytes]:
    """Returns the bodies that a response sends."""
    sent: list[bytes] = []

    async def send(message: Any) -> None:
        await asyncio.sleep(0)
        sent.append(message.get("body", b""))

    async def scene() -> None:
        async with asyncio.timeout(seconds):
            await response(SCOPE, never, send)

    asyncio.run(scene())
    return [body for body in sent if body]


def test_a_slot_is_taken_before_the_stream_begins_and_released_when_it_ends() -> None:
    streams = StreamLimit(2)
    with streams.acquire() as slot, streams.acquire():
        response = slot.respond(entries("RunStarted", "RunCompleted"))
        assert streams.open == 2
        with pytest.raises(UnavailableError, match="more than 2 streams"):
            streams.acquire()
    assert streams.open == 1
    assert sent_by(response) == [frame(RunEvent(0, "RunStarted", b"{}")), frame(RunEvent(1, "RunCompleted", b"{}"))]
    assert streams.open == 0


@pytest.mark.parametrize("steps", range(6))
def test_a_stream_cancelled_at_any_time_releases_its_slot(steps: int) -> None:
    streams = StreamLimit(1)

    async def scene() -> None:
        async def send(_message: Any) -> None:
            await asyncio.sleep(0)

        with streams.acquire() as slot:
            response = slot.respond(endless())
        task = asyncio.create_task(response(SCOPE, never, send))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scene())
    assert streams.open == (1 if steps == 0 else 0)  # a task that never started has run no part of the response


def test_an_idle_stream_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.01)

    async def slow() -> AsyncGenerator[RunEvent, None]:
        await asyncio.sleep(0.2)
        yield RunEvent(0, "RunCompleted", b"{}")

    with StreamLimit(1).acquire() as slot:
        sent = sent_by(slot.respond(slow()))
    assert sent[0] == b": heartbeat\n\n"
    assert sent[-1] == frame(RunEvent(0, "RunCompleted", b"{}"))
    assert set(sent[:-1]) == {b": heartbeat\n\n"}


def test_a_reader_that_does_not_read_is_disconnected() -> None:
    streams, taken = StreamLimit(1), 0

    async def application(scope: Any, receive: Any, send: Any) -> None:
        with streams.acquire() as slot:
            response = slot.respond(endless())
        await response(scope, receive, send)

    async def scene() -> None:
        async def send(message: Any) -> None:
            nonlocal taken
            taken += bool(message.get("body"))
            if taken > 3:
                await never()

        async with asyncio.timeout(5):
            await ChunkedSend(application, ResponseBudget(2**20, 0.05), ResponseBudget(2**20, 0.05))(SCOPE, never, send)

    asyncio.run(scene())
    assert (streams.open, taken) == (0, 4)


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        (Kind.AGENT, ["RunStarted", "RunContent", "CustomEvent", "RunCompleted"], ["RunContent"]),
        (Kind.AGENT, ["RunStarted", "RunError"], ["RunError"]),
        (Kind.AGENT, ["RunStarted", "RunPaused"], ["RunPaused"]),
        (
            Kind.TEAM,
            ["TeamRunStarted", "RunContent", "RunError", "TeamRunCancelled"],
            ["RunContent", "TeamRunCancelled"],
        ),
        (
            Kind.WORKFLOW,
            ["WorkflowStarted", "StepStarted", "RunContent", "WorkflowCompleted"],
            ["RunContent", "WorkflowCompleted"],
        ),
    ],
)
def test_a_stream_shows_pieces_or_the_answer_and_a_failed_end(
    kind: Kind, given: list[str], expected: list[str]
) -> None:
    async def scene() -> list[str]:
        return [entry.name async for entry in content_only(entries(*given), kind)]

    assert asyncio.run(scene()) == expected
