"""The database writer: a database that fails for a while leaves no gap, and memory is bounded."""

from __future__ import annotations

import asyncio
import random
import threading
from typing import TYPE_CHECKING, Any

import pytest

from spanwise.database import SqliteDatabase
from spanwise.errors import StoreError, UnavailableError
from spanwise.runs.active_run import MOST_BYTES, MOST_BYTES_AFTER, MOST_BYTES_AT_ONCE, MOST_EVENTS, LiveRun
from spanwise.runs.database_writer import MOST_BEHIND_BYTES, MOST_UNSTORED, Journal
from spanwise.runs.memory_budget import Room
from spanwise.runs.subscription import Following, next_index

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


MEBIBYTE = 1024 * 1024


class Faulty(SqliteDatabase):
    """A database whose disk fails at times."""

    fails = False
    poisoned = ""

    def add_events(self, events: Sequence[tuple[str, int, str, bytes]]) -> None:
        if self.fails or any(event[0] == self.poisoned for event in events):
            raise OSError("disk full")
        super().add_events(events)


def event(run_id: str, index: int) -> tuple[str, int, str, bytes]:
    return run_id, index, "RunContent", b"{}"


async def opened(folder: Path, max_bytes: int = 1024 * MEBIBYTE) -> tuple[Faulty, Journal]:
    database = Faulty(folder / "runs.db")
    journal = Journal(database, Room(max_bytes))
    await journal.open()
    return database, journal


def test_events_that_could_not_be_stored_are_stored_with_the_next_one(tmp_path: Path) -> None:
    async def scene() -> list[int]:
        database, journal = await opened(tmp_path)
        database.fails = True
        for index in range(3):
            journal.add(event("a", index))
            await journal.flushed()
        assert [each[1] for each in journal.unstored("a")] == [0, 1, 2]
        assert [entry.index async for entry in Following(journal, "a", None).after(0)] == [1, 2]
        database.fails = False
        journal.add(event("a", 3))
        await journal.flushed()
        assert journal.unstored("a") == []
        found = await journal.do(lambda stored: stored.events("a", -1, 10))
        await journal.close()
        return [each[0] for each in found]

    assert asyncio.run(scene()) == [0, 1, 2, 3]


class Slow(SqliteDatabase):
    """A database that stores events once a test lets it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.goes_on = threading.Event()

    def add_events(self, events: Sequence[tuple[str, int, str, bytes]]) -> None:
        self.goes_on.wait()
        super().add_events(events)


@pytest.mark.parametrize("kind", [Slow, Faulty])
def test_a_waiting_run_is_never_far_ahead_of_the_database_even_of_a_failing_one(
    tmp_path: Path, kind: type[Slow | Faulty]
) -> None:
    size = MEBIBYTE // 10

    async def emit(journal: Journal) -> None:
        for index in range(100):
            journal.add(("a", index, "RunContent", b"x" * size))
            await journal.caught_up()

    async def scene() -> int:
        database = kind(tmp_path / "runs.db")
        journal = Journal(database, Room(1024 * MEBIBYTE))
        await journal.open()
        emitting = asyncio.create_task(emit(journal))
        if isinstance(database, Slow):
            await asyncio.sleep(0.1)
            assert not emitting.done()
            assert MOST_BEHIND_BYTES < journal.room.in_memory <= MOST_BEHIND_BYTES + size
            database.goes_on.set()
        else:
            database.fails = True
        await emitting
        await journal.flushed()
        unstored = len(journal.unstored("a"))
        journal.forget("a")
        assert journal.room.in_memory == 0
        await journal.close()
        return unstored

    assert asyncio.run(scene()) == (100 if kind is Faulty else 0)


def test_one_run_that_cannot_be_stored_does_not_block_others(tmp_path: Path) -> None:
    async def scene() -> None:
        database, journal = await opened(tmp_path)
        database.poisoned = "bad"
        for index in range(5):
            journal.add(event("bad", index))
            journal.add(event("good", index))
        await journal.flushed()
        assert len(await journal.do(lambda stored: stored.events("good", -1, 10))) == 5
        assert len(journal.unstored("bad")) == 5
        journal.forget("bad")
        assert journal.unstored("bad") == []
        await journal.close()

    asyncio.run(scene())


def test_required_writes_are_retried(tmp_path: Path) -> None:
    async def scene() -> None:
        database, journal = await opened(tmp_path)
        database.fails = True
        storing = asyncio.create_task(journal.do_at_last(lambda stored: stored.add_events([event("a", 0)])))
        await asyncio.sleep(0.1)
        database.fails = False
        await storing
        assert len(await journal.do(lambda stored: stored.events("a", -1, 10))) == 1
        await journal.close()

    asyncio.run(scene())


def test_retries_do_not_prevent_a_shutdown(tmp_path: Path) -> None:
    async def scene() -> None:
        database, journal = await opened(tmp_path)
        database.fails = True
        storing = asyncio.create_task(journal.do_at_last(lambda stored: stored.add_events([event("a", 0)])))
        await asyncio.sleep(0.5)
        assert not storing.done()
        journal.end()
        with pytest.raises(OSError, match="disk full"):
            await asyncio.wait_for(storing, 1)
        await journal.close()

    asyncio.run(scene())


def test_a_run_reports_lost_events(tmp_path: Path) -> None:
    async def scene() -> None:
        database, journal = await opened(tmp_path)
        database.fails = True
        for index in range(MOST_UNSTORED + 1):
            journal.add(event("a", index))
        await journal.flushed()
        with pytest.raises(StoreError, match="events of run a could not be stored"):
            journal.unstored("a")
        await journal.close()

    asyncio.run(scene())


def test_the_next_index_follows_the_last_whatever_is_missing(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "runs.db")
    database.open()
    rng = random.Random(7)
    for number in range(60):
        indexes = rng.sample(range(120), rng.randint(0, 40))
        if indexes:
            database.add_events([event(str(number), index) for index in indexes])
        assert next_index(database, str(number)) == max(indexes, default=-1) + 1
    database.close()


def test_a_run_in_memory_is_bounded_and_a_slow_subscriber_misses_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        _, journal = await opened(tmp_path)
        live = LiveRun(("a", "s"), 0, journal, keeps_events=False)
        large = "x" * (MOST_BYTES_AT_ONCE // 2 + 1)
        for number in range(MOST_EVENTS + 50):
            live.emit({"event": "RunContent", "content": large if number % 200 == 0 else "y"})
        assert live.after(0, 10) is None
        assert sum(len(entry.body) for entry in live.after(MOST_EVENTS, 10) or ()) < MOST_BYTES
        assert live.kept == []
        batches = [live.after(index, 256) for index in range(MOST_EVENTS - 300, MOST_EVENTS)]
        live.end()
        assert live.after(MOST_EVENTS - 300, 10) is None
        assert live.after(MOST_EVENTS + 48, 10)
        found: list[Any] = [entry async for entry in Following(journal, "a", live).after(-1)]
        assert [entry.index for entry in found] == list(range(MOST_EVENTS + 50))
        for batch in batches:
            assert batch
            assert len(batch) == 1 or sum(len(entry.body) for entry in batch) <= MOST_BYTES_AT_ONCE
        await journal.close()

    asyncio.run(scene())


def test_a_full_budget_keeps_little_starts_nothing_and_loses_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        _, journal = await opened(tmp_path, MEBIBYTE)
        budget = journal.room
        live = LiveRun(("a", "s"), 0, journal, keeps_events=False)
        text = "x" * 1000
        for _ in range(3000):
            live.emit({"event": "RunContent", "content": text})
        with pytest.raises(UnavailableError, match="too many bytes of events at once"):
            budget.admit()
        assert sum(len(entry.body) for entry in live.after(2999 - 256, 256) or ()) <= MOST_BYTES_AFTER
        await journal.flushed()
        budget.admit()
        assert budget.in_memory <= MOST_BYTES_AFTER
        live.end()
        following = Following(journal, "a", live).after(-1)
        first = await anext(following)
        assert budget.in_memory > MOST_BYTES_AFTER
        assert [first.index] + [entry.index async for entry in following] == list(range(3000))
        del live, following
        # The thread of the database holds what it was asked last until it is asked again.
        await journal.do(lambda _: None)
        assert budget.in_memory == 0
        await journal.close()

    asyncio.run(scene())


def test_the_memory_of_events_is_always_returned(tmp_path: Path) -> None:
    async def scene() -> None:
        database, journal = await opened(tmp_path)
        rng = random.Random(7)
        live: dict[str, LiveRun] = {}
        for number in range(400):
            run_id = str(rng.randrange(8))
            database.fails = rng.random() < 0.3
            if run_id not in live:
                live[run_id] = LiveRun((run_id, "s"), number * 10, journal, keeps_events=rng.random() < 0.5)
            for _ in range(rng.randrange(4)):
                live[run_id].emit({"event": rng.choice(["RunContent", "CustomEvent"]), "content": "x" * number})
            if rng.random() < 0.5:
                await journal.flushed()
            if rng.random() < 0.2:
                await journal.flushed()
                journal.forget(run_id)
                live.pop(run_id).end()
        database.fails = False
        await journal.flushed()
        for run_id, each in live.items():
            journal.forget(run_id)
            each.end()
        assert journal.room.in_memory > 0
        del each
        live.clear()
        assert journal.room.in_memory == 0
        await journal.close()

    asyncio.run(scene())
