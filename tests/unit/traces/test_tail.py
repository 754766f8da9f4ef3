"""Tails in one process: events are complete, positions are held for a while, and ends are reported."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from spanwise import TraceStore
from spanwise.errors import UnavailableError
from spanwise.fair_budget import current_caller
from spanwise.settings import Settings
from spanwise.traces import tail as module
from spanwise.traces.service import Traces
from support.in_process.stores import ingest, open_sharded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from spanwise.traces.tail import TailConnection, TailEvent

USERS = ("alice", "Alice", "bob", "*")
EVERYTHING = Raw(b"null")


@asynccontextmanager
async def followed(
    traces: Traces, owner: str | None = None, last_event_id: str | None = None
) -> AsyncIterator[list[TailEvent]]:
    """Yields the events of a tail so far."""
    connection = await traces.view(None, owner).tail(EVERYTHING, last_event_id)
    events: list[TailEvent] = []

    async def read(connection: TailConnection) -> None:
        async for some in connection.events():
            events.extend(some)

    reading = asyncio.create_task(read(connection))
    try:
        yield events
    finally:
        reading.cancel()
        connection.close()


async def until_quiet(events: list[TailEvent]) -> None:
    """Returns once several polls have brought no event."""
    count = -1
    while len(events) != count:
        count = len(events)
        await asyncio.sleep(module.POLL_SECONDS * 4)


def bodies(events: list[TailEvent]) -> list[dict[str, Any]]:
    return [json.loads(event.body) for event in events if event.name == "trace"]


@pytest.fixture(params=[0, 3], ids=["one store", "shards"])
def traces(request: pytest.FixtureRequest, tmp_path: Path) -> Traces:
    store: Any = open_sharded(tmp_path, request.param) if request.param else TraceStore.open(str(tmp_path / "traces"))
    return Traces({"default": store}, Settings())


@given(users=st.lists(st.none() | st.sampled_from(USERS), max_size=12))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_each_caller_sees_is_its_part_of_what_an_administrator_sees(
    tmp_path_factory: pytest.TempPathFactory, users: list[str | None]
) -> None:
    store = TraceStore.open(str(tmp_path_factory.mktemp("tails") / "traces"))
    traces = Traces({"default": store}, Settings())

    async def scene() -> None:
        async with followed(traces) as everything:
            seen = {user: followed(traces, user) for user in USERS}
            events = {user: await context.__aenter__() for user, context in seen.items()}
            for number, user in enumerate(users, 1):
                ingest(store, number, **({} if user is None else {"user.id": user}))
            await until_quiet(everything)
            assert len(bodies(everything)) == len(users)
            for user in USERS:
                own = [trace for trace in bodies(everything) if trace.get("user_id") == user]
                assert sorted(bodies(events[user]), key=str) == sorted(own, key=str)
                numbers = [int(event.id.rpartition(".")[2]) for event in events[user]]
                assert numbers == list(range(len(own) + 1)), "a position counts nothing but a caller's own events"
            for context in seen.values():
                await context.__aexit__(None, None, None)

    asyncio.run(scene())
    store.close()


def test_positions_are_held_for_some_time_and_for_some_streams(traces: Traces, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller with the most held streams loses its oldest ones."""

    async def left(caller: str) -> str:
        current_caller.set(caller)
        async with followed(traces) as events:
            await asyncio.sleep(0)
            await until_quiet(events)
        return events[0].id

    async def is_resumed(caller: str, position: str) -> bool:
        current_caller.set(caller)
        async with followed(traces, last_event_id=position) as events:
            await until_quiet(events)
        return events[0].body == b'{"resumed":true}'

    async def scene() -> None:
        modest = await left("modest")
        greedy = [await left("greedy") for _ in range(3)]
        assert not await is_resumed("greedy", greedy[0])
        assert await is_resumed("greedy", greedy[2])
        assert await is_resumed("modest", modest)
        assert not await is_resumed("greedy", modest), "it is somebody else's"
        monkeypatch.setattr(module, "HELD_SECONDS", 0.0)
        assert not await is_resumed("modest", modest)

    monkeypatch.setattr(module, "MAX_HELD", 3)
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    asyncio.run(scene())


def test_a_failure_of_a_poll_ends_tails_and_says_so(tmp_path: Path) -> None:
    class Broken:
        position = 1

        def __init__(self, feed: Any) -> None:
            self.open = feed.open

        def poll(self, _readers: object) -> None:
            raise RuntimeError("broken")

    class BrokenStore:
        def __init__(self) -> None:
            self.store = TraceStore.open(str(tmp_path / "traces"))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.store, name)

        def tail_feed(self) -> Broken:
            return Broken(self.store.tail_feed())

    async def scene() -> None:
        broken: Any = BrokenStore()
        async with followed(Traces({"default": broken}, Settings())) as events:
            await until_quiet(events)
            assert [(event.name, event.id == "") for event in events] == [("started", False), ("end", True)]
            assert json.loads(events[-1].body) == {"reason": "failed"}

    asyncio.run(scene())


def test_after_a_drain_there_are_no_tails(traces: Traces) -> None:
    async def scene() -> None:
        async with followed(traces) as events:
            await until_quiet(events)
            traces.drain()
            await until_quiet(events)
            assert json.loads(events[-1].body) == {"reason": "shutdown"}
        with pytest.raises(UnavailableError, match="shutting down"):
            await traces.view(None, None).tail(EVERYTHING, None)

    asyncio.run(scene())
