"""Pages of runs: together they have every run once, and each run is charged before it is read."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from spanwise.database import RunRecord, SessionKey, SessionRecord, SessionRunQuery
from spanwise.database.sqlite import SqliteDatabase
from spanwise.errors import PayloadTooLargeError, UnavailableError
from spanwise.fair_budget import FairBudget
from spanwise.runs.storage.pages import MEMORY_FACTOR, PAGE_RUNS, RunPages
from spanwise.runs.storage.writer import DatabaseWriter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from spanwise.fair_budget import Lease

SESSION = SessionRecord(
    session_id="s",
    user_id="ann",
    kind="agent",
    component_id="echo",
    name="s",
    state=None,
    metadata={},
    created_at=1,
    updated_at=1,
)
QUERY = SessionRunQuery(session=SessionKey("ann", "s"))


class Watched(SqliteDatabase):
    """A database that checks the charge of every read."""

    lease: Lease
    reads = 0

    def runs(self, numbers: Sequence[int]) -> list[RunRecord]:
        sizes = dict(self.run_sizes(QUERY, 0, 10_000))
        assert MEMORY_FACTOR * sum(sizes[number] for number in numbers) <= self.lease.amount
        self.reads += 1
        return super().runs(numbers)


def run(number: int, size: int) -> RunRecord:
    kept: dict[str, Any] = {"result": {}, "paused": None, "trace": {}, "created_at": 1, "updated_at": 1}
    return RunRecord(
        run_id=f"r{number}",
        owner="ann",
        session_id="s",
        user_id="ann",
        kind="agent",
        component_id="echo",
        status="COMPLETED",
        message="x" * size,
        **kept,
    )


async def opened(folder: Path, sizes: Sequence[int], budget: FairBudget) -> tuple[Watched, DatabaseWriter]:
    database = Watched(folder / "runs.db")
    database.lease = budget.hold()
    writer = DatabaseWriter(lambda: database, budget)
    await writer.open()
    with database.together():
        for number, size in enumerate(sizes):
            database.begin(SESSION, run(number, size))
    return database, writer


def fail(_database: object) -> None:
    raise ValueError


@pytest.mark.parametrize(
    ("sizes", "capacity", "pages"),
    [
        ([], 10_000, 1),
        ([1, 2, 3], 10_000, 1),
        ([100] * 20, 10_000, 10),
        ([1, 1500, 1], 10_000, 3),
        ([300] * 3, 10_000, 3),
        ([0] * PAGE_RUNS, 10_000_000, 2),
        ([0] * (PAGE_RUNS + 1), 10_000_000, 2),
    ],
)
@pytest.mark.parametrize("others_fail", [False, True])
def test_pages_are_all_runs_once(
    tmp_path: Path,
    sizes: list[int],
    capacity: int,
    pages: int,
    others_fail: bool,  # noqa: FBT001  # the case
) -> None:
    async def scene() -> tuple[list[list[str]], int]:
        budget = FairBudget(capacity, "too many bytes")
        database, writer = await opened(tmp_path, sizes, budget)
        reader = RunPages(writer, database.lease, lambda record: record.run_id)
        found: list[list[str]] = []
        while not reader.is_done:
            # A failed transaction in the same batch makes all others start again.
            failing = [writer.transact(fail)] if others_fail else []
            reading = reader.next() if found else reader.first(lambda _: QUERY)
            page, *_ = await asyncio.gather(reading, *failing, return_exceptions=True)
            assert isinstance(page, list), page
            found.append(page)
        database.lease.release()
        assert budget.used == 0
        await writer.close()
        return found, database.reads

    found, reads = asyncio.run(scene())
    assert [each for page in found for each in page] == [f"r{number}" for number in range(len(sizes))]
    assert len(found) == pages
    assert reads >= len([page for page in found if page])


def test_a_reader_that_leaves_before_its_page_is_read_holds_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        budget = FairBudget(10_000, "too many bytes")
        database, writer = await opened(tmp_path, [100], budget)
        is_begun, may_go_on = threading.Event(), threading.Event()

        def block(_database: object) -> None:
            is_begun.set()
            may_go_on.wait()

        blocking = asyncio.ensure_future(writer.transact(block))
        await asyncio.to_thread(is_begun.wait)
        reading = asyncio.ensure_future(
            RunPages(writer, database.lease, lambda record: record.run_id).first(lambda _: QUERY)
        )
        await asyncio.sleep(0)
        reading.cancel()
        database.lease.close()
        may_go_on.set()
        await blocking
        await writer.close()
        assert (database.reads, budget.used) == (0, 0)

    asyncio.run(scene())


@pytest.mark.parametrize(("held", "error"), [(0, PayloadTooLargeError), (9_900, UnavailableError)])
def test_a_run_that_does_not_fit_is_not_read(tmp_path: Path, held: int, error: type[Exception]) -> None:
    async def scene() -> None:
        budget = FairBudget(10_000, "too many bytes")
        size = 2_000 if error is PayloadTooLargeError else 100
        database, writer = await opened(tmp_path, [size], budget)
        others = budget.hold()
        others.count(held)
        with pytest.raises(error):
            await RunPages(writer, database.lease, lambda record: record.run_id).first(lambda _: QUERY)
        assert (database.reads, budget.used) == (0, held)
        await writer.close()

    asyncio.run(scene())
