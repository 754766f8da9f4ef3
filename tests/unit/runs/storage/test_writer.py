"""The database writer: a temporary failure of the database leaves no gap, and memory is limited."""

from __future__ import annotations

import asyncio
import random
import threading
from typing import TYPE_CHECKING, Any

import pytest

from spanwise.database import SessionKey
from spanwise.database.sqlite import SqliteDatabase
from spanwise.errors import DatabaseAwayError, StoreError, UnavailableError
from spanwise.fair_budget import FairBudget, current_caller
from spanwise.runs.active_run import MAX_BYTES, MAX_CHUNK_BYTES, MAX_EVENTS, MAX_TAIL_BYTES, ActiveRun
from spanwise.runs.storage.writer import MAX_PENDING_BYTES, MAX_UNSTORED_EVENTS, RETRY_SECONDS, DatabaseWriter
from spanwise.runs.subscription import Subscription, next_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from spanwise.database import Database


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


async def opened(folder: Path, max_bytes: int = 1024 * MEBIBYTE) -> tuple[Faulty, DatabaseWriter]:
    database = Faulty(folder / "runs.db")
    writer = DatabaseWriter(lambda: database, FairBudget(max_bytes, "too many bytes of events at once"))
    await writer.open()
    return database, writer


def test_events_that_could_not_be_stored_are_stored_with_the_next_one(tmp_path: Path) -> None:
    async def scene() -> list[int]:
        database, writer = await opened(tmp_path)
        database.fails = True
        for index in range(3):
            writer.add_event(event("a", index), writer.budget.hold())
            await writer.flushed()
        assert [each[1] for each in writer.unstored_events("a")] == [0, 1, 2]
        assert [entry.index async for entry in Subscription(writer, "a", None).events_after(0)] == [1, 2]
        database.fails = False
        writer.add_event(event("a", 3), writer.budget.hold())
        await writer.flushed()
        assert writer.unstored_events("a") == []
        found = await writer.transact(lambda stored: stored.events("a", -1, 10))
        await writer.close()
        return [each[0] for each in found]

    assert asyncio.run(scene()) == [0, 1, 2, 3]


class Clock:
    """Sleeps as long as a test allows, and records the requested durations."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.changed = asyncio.Event()
        self._goes_on = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        self.changed.set()
        await self._goes_on.wait()

    async def until_asked(self, times: int) -> None:
        while len(self.asked) < times:
            self.changed.clear()
            await self.changed.wait()

    def tick(self) -> None:
        self._goes_on.set()
        self._goes_on = asyncio.Event()


class Away(SqliteDatabase):
    """A database whose server is unavailable at times."""

    is_away = False
    attempts = 0

    def add_events(self, events: Sequence[tuple[str, int, str, bytes]]) -> None:
        self.attempts += 1
        if self.is_away:
            raise DatabaseAwayError("away")
        super().add_events(events)


async def opened_away(folder: Path, clock: Clock) -> tuple[Away, DatabaseWriter]:
    database = Away(folder / "runs.db")
    writer = DatabaseWriter(lambda: database, FairBudget(1024 * MEBIBYTE, "full"), clock.sleep)
    await writer.open()
    database.is_away = True
    return database, writer


def adds(run_id: str) -> Callable[[Database], None]:
    return lambda stored: stored.add_events([event(run_id, 0)])


def test_a_database_that_is_away_is_tried_with_back_off_until_it_is_back(tmp_path: Path) -> None:
    async def scene() -> list[float]:
        clock = Clock()
        database, writer = await opened_away(tmp_path, clock)
        failed: list[int] = []
        storing = asyncio.create_task(writer.transact_with_retries(adds("a"), failed.append))
        for number in range(12):
            await clock.until_asked(number + 1)
            assert failed == list(range(1, number + 2))
            assert not storing.done()
            clock.tick()
        await clock.until_asked(13)
        database.is_away = False
        clock.tick()
        await storing
        assert len(await writer.transact(lambda stored: stored.events("a", -1, 10))) == 1
        await writer.close()
        return clock.asked

    assert asyncio.run(scene()) == [*RETRY_SECONDS, *[RETRY_SECONDS[-1]] * 6]


def test_one_success_ends_the_pauses_of_all_runs(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        database, writer = await opened_away(tmp_path, clock)
        storing = [asyncio.create_task(writer.transact_with_retries(adds(str(number)))) for number in range(20)]
        await clock.until_asked(20)
        assert database.attempts == 1, "the others would only wait for the network"
        database.is_away = False
        await writer.transact(adds("probe"))
        await asyncio.gather(*storing)
        for number in range(20):
            assert await writer.transact(lambda stored, run=str(number): stored.events(run, -1, 2))  # type: ignore[misc]
        await writer.close()

    asyncio.run(scene())


class Slow(SqliteDatabase):
    """A database that stores events once a test allows it."""

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

    async def emit(writer: DatabaseWriter) -> None:
        for index in range(100):
            writer.add_event(("a", index, "RunContent", b"x" * size), writer.budget.hold())
            await writer.caught_up()

    async def scene() -> int:
        database = kind(tmp_path / "runs.db")
        writer = DatabaseWriter(lambda: database, FairBudget(1024 * MEBIBYTE, "full"))
        await writer.open()
        emitting = asyncio.create_task(emit(writer))
        if isinstance(database, Slow):
            await asyncio.sleep(0.1)
            assert not emitting.done()
            assert MAX_PENDING_BYTES < writer.budget.used <= MAX_PENDING_BYTES + size
            database.goes_on.set()
        else:
            database.fails = True
        await emitting
        await writer.flushed()
        unstored = len(writer.unstored_events("a"))
        writer.discard_unstored("a")
        assert writer.budget.used == 0
        await writer.close()
        return unstored

    assert asyncio.run(scene()) == (100 if kind is Faulty else 0)


def test_one_run_that_cannot_be_stored_does_not_block_others(tmp_path: Path) -> None:
    async def scene() -> None:
        database, writer = await opened(tmp_path)
        database.poisoned = "bad"
        for index in range(5):
            writer.add_event(event("bad", index), writer.budget.hold())
            writer.add_event(event("good", index), writer.budget.hold())
        await writer.flushed()
        assert len(await writer.transact(lambda stored: stored.events("good", -1, 10))) == 5
        assert len(writer.unstored_events("bad")) == 5
        writer.discard_unstored("bad")
        assert writer.unstored_events("bad") == []
        await writer.close()

    asyncio.run(scene())


def test_required_writes_are_retried(tmp_path: Path) -> None:
    async def scene() -> None:
        database, writer = await opened(tmp_path)
        database.fails = True
        storing = asyncio.create_task(writer.transact_with_retries(lambda stored: stored.add_events([event("a", 0)])))
        await asyncio.sleep(0.1)
        database.fails = False
        await storing
        assert len(await writer.transact(lambda stored: stored.events("a", -1, 10))) == 1
        await writer.close()

    asyncio.run(scene())


def test_retries_do_not_prevent_a_shutdown(tmp_path: Path) -> None:
    async def scene() -> None:
        database, writer = await opened(tmp_path)
        database.fails = True
        storing = asyncio.create_task(writer.transact_with_retries(lambda stored: stored.add_events([event("a", 0)])))
        await asyncio.sleep(0.5)
        assert not storing.done()
        writer.stop_retrying()
        with pytest.raises(OSError, match="disk full"):
            await asyncio.wait_for(storing, 1)
        await writer.close()

    asyncio.run(scene())


def test_a_run_reports_lost_events(tmp_path: Path) -> None:
    async def scene() -> None:
        database, writer = await opened(tmp_path)
        database.fails = True
        for index in range(MAX_UNSTORED_EVENTS + 1):
            writer.add_event(event("a", index), writer.budget.hold())
        await writer.flushed()
        with pytest.raises(StoreError, match="events of run a could not be stored"):
            writer.unstored_events("a")
        await writer.close()

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
        _, writer = await opened(tmp_path)
        active = ActiveRun(("a", SessionKey("", "s")), 0, writer, keeps_events=False)
        large = "x" * (MAX_CHUNK_BYTES // 2 + 1)
        for number in range(MAX_EVENTS + 50):
            active.emit({"event": "RunContent", "content": large if number % 200 == 0 else "y"})
        assert active.events_after(0, 10) is None
        assert sum(len(entry.body) for entry in active.events_after(MAX_EVENTS, 10) or ()) < MAX_BYTES
        assert active.result_events == []
        batches = [active.events_after(index, 256) for index in range(MAX_EVENTS - 300, MAX_EVENTS)]
        active.end()
        assert active.events_after(MAX_EVENTS - 300, 10) is None
        assert active.events_after(MAX_EVENTS + 48, 10)
        found: list[Any] = [entry async for entry in Subscription(writer, "a", active).events_after(-1)]
        assert [entry.index for entry in found] == list(range(MAX_EVENTS + 50))
        for batch in batches:
            assert batch
            assert len(batch) == 1 or sum(len(entry.body) for entry in batch) <= MAX_CHUNK_BYTES
        await writer.close()

    asyncio.run(scene())


def test_a_full_budget_keeps_little_starts_nothing_and_loses_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        _, writer = await opened(tmp_path, MEBIBYTE)
        budget = writer.budget
        active = ActiveRun(("a", SessionKey("", "s")), 0, writer, keeps_events=False)
        text = "x" * 1000
        for _ in range(3000):
            active.emit({"event": "RunContent", "content": text})
        with pytest.raises(UnavailableError, match="too many bytes of events at once"):
            budget.expect_available()
        assert sum(len(entry.body) for entry in active.events_after(2999 - 256, 256) or ()) <= MAX_TAIL_BYTES
        await writer.flushed()
        budget.expect_available()
        assert budget.used <= MAX_TAIL_BYTES
        active.end()
        following = Subscription(writer, "a", active).events_after(-1)
        first = await anext(following)
        assert budget.used > MAX_TAIL_BYTES
        assert [first.index] + [entry.index async for entry in following] == list(range(3000))
        del active, following
        # The database thread references its last work item until it gets another one.
        await writer.transact(lambda _: None)
        assert budget.used == 0
        await writer.close()

    asyncio.run(scene())


def test_one_caller_s_events_keep_no_other_caller_out(tmp_path: Path) -> None:
    def expect_share(writer: DatabaseWriter, caller: str, *, is_free: bool) -> None:
        current_caller.set(caller)
        if is_free:
            writer.budget.expect_available()
        else:
            with pytest.raises(UnavailableError, match="too many bytes of events at once"):
                writer.budget.expect_available()

    async def scene() -> None:
        _, writer = await opened(tmp_path, MEBIBYTE)
        runs = {}
        for caller in ("greedy", "modest"):
            current_caller.set(caller)
            runs[caller] = ActiveRun((caller, SessionKey("", "s")), 0, writer, keeps_events=False)
        # bytes count for the caller that started the run, regardless of who emits or reads
        current_caller.set("modest")
        while writer.budget.allows("greedy"):
            runs["greedy"].emit({"event": "RunContent", "content": "x" * 1000})
        assert 3 * MEBIBYTE // 4 <= writer.budget.held("greedy") < MEBIBYTE
        assert writer.budget.held("modest") == 0
        expect_share(writer, "greedy", is_free=False)
        expect_share(writer, "modest", is_free=True)
        for _ in range(30):
            runs["modest"].emit({"event": "RunContent", "content": "x" * 1000})
        runs["greedy"].emit({"event": "RunContent", "content": "x" * 1000})
        await writer.flushed()
        assert writer.budget.held("greedy") <= MAX_TAIL_BYTES, "it holds less of what is stored"
        assert len(runs["modest"].events_after(-1, 100) or ()) == 30, "and the other one does not"
        expect_share(writer, "greedy", is_free=True)
        runs.clear()
        await writer.transact(lambda _: None)
        assert writer.budget.used == 0
        await writer.close()

    asyncio.run(scene())


def test_the_memory_of_events_is_always_returned(tmp_path: Path) -> None:
    async def scene() -> None:
        database, writer = await opened(tmp_path)
        rng = random.Random(7)
        active: dict[str, ActiveRun] = {}
        for number in range(400):
            run_id = str(rng.randrange(8))
            database.fails = rng.random() < 0.3
            if run_id not in active:
                active[run_id] = ActiveRun(
                    (run_id, SessionKey("", "s")), number * 10, writer, keeps_events=rng.random() < 0.5
                )
            for _ in range(rng.randrange(4)):
                active[run_id].emit({"event": rng.choice(["RunContent", "CustomEvent"]), "content": "x" * number})
            if rng.random() < 0.5:
                await writer.flushed()
            if rng.random() < 0.2:
                await writer.flushed()
                writer.discard_unstored(run_id)
                active.pop(run_id).end()
        database.fails = False
        await writer.flushed()
        for run_id, each in active.items():
            writer.discard_unstored(run_id)
            each.end()
        assert writer.budget.used > 0
        del each
        active.clear()
        assert writer.budget.used == 0
        await writer.close()

    asyncio.run(scene())
