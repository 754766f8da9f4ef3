"""The end of a run that the database rejects is kept within the budget, or stored as an error with the reason."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from spanwise.database import RunRecord, SessionKey, SessionRecord
from spanwise.database.sqlite import SqliteDatabase
from spanwise.errors import DatabaseAwayError, StoreError, UnavailableError
from spanwise.fair_budget import FairBudget
from spanwise.runs.active_run import ActiveRun, RunEvent
from spanwise.runs.finalize import end_if_unfinished
from spanwise.runs.run_end import LOST_EVENTS, LOST_RESULT, REJECTED, RunEnd
from spanwise.runs.run_tasks import RunTasks
from spanwise.runs.storage.writer import MAX_UNSTORED_EVENTS, RETRY_SECONDS, DatabaseWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KEY = SessionKey("", "s")
LARGE = "x" * 100_000


class Faulty(SqliteDatabase):
    """A database that fails as a test specifies.

    Attributes:
        fault: the error that every change raises.
        breaks_commits: True if the connection breaks after a commit was sent.
        rejects: True if results with `LARGE` are rejected.
    """

    fault: Exception | None = None
    breaks_commits = False
    rejects = False

    @contextmanager
    def together(self) -> Iterator[None]:
        with super().together():
            yield
        if self.breaks_commits:
            self.breaks_commits = False
            raise DatabaseAwayError("away")

    def end(self, run: RunRecord, session_state: dict[str, Any] | None) -> None:
        if self.fault is not None:
            raise self.fault
        if self.rejects and run.result.get("content") == LARGE:
            raise StoreError("this one is not taken")
        super().end(run, session_state)

    def add_events(self, added: Any) -> None:
        if self.fault is not None:
            raise self.fault
        super().add_events(added)


def record(**members: Any) -> RunRecord:
    given = {"status": "RUNNING", "result": {}, "paused": None, "trace": {}, "created_at": 1, "updated_at": 1} | members
    kind: dict[str, Any] = {"kind": "agent", "component_id": "echo", "message": "hi"}
    return RunRecord(run_id="r", owner="", session_id="s", user_id=None, **kind, **given)


SESSION = SessionRecord(
    session_id="s",
    user_id=None,
    kind="agent",
    component_id="echo",
    name="",
    state=None,
    metadata={},
    created_at=1,
    updated_at=1,
)


class Scene:
    """One run with an end to store."""

    def __init__(self, folder: Path, max_bytes: int = 1024 * 1024, *, ticks: int = 1000) -> None:
        self.database = Faulty(folder / "runs.db")
        self.writer = DatabaseWriter(lambda: self.database, FairBudget(max_bytes, "full"), self._sleep)
        self._ticks = ticks
        self.on_tick: Callable[[], None] = lambda: None

    async def _sleep(self, _seconds: float) -> None:
        """Returns at once, a limited number of times; after that the database is back."""
        self._ticks -= 1
        if self._ticks == 0:
            self.database.fault = None
        self.on_tick()

    async def begin(self) -> ActiveRun:
        await self.writer.open()
        await self.writer.transact(lambda database: database.begin(SESSION, record()))
        return ActiveRun(("r", KEY), 0, self.writer, keeps_events=False)

    async def end(self, active: ActiveRun) -> RunEnd:
        """Stores the end of the run with a large result."""
        result = {"content": LARGE, "metadata": {"trace_id": "t"}}
        last = RunEvent(active.next_index, "RunCompleted", b"{}")
        end = RunEnd(record(status="COMPLETED", result=result), last, {"asked": 1})
        await end.store(self.writer, active)
        return end

    async def stored(self) -> tuple[RunRecord, list[str]]:
        """Returns the run and the names of its events, and closes the database."""
        found = await self.writer.transact(lambda database: database.run("r"))
        events = await self.writer.transact(lambda database: database.events("r", -1, 100))
        await self.writer.close()
        assert found is not None
        return found, [name for _, name, _ in events]


def test_an_end_waits_for_the_database_and_callers_stop_waiting(tmp_path: Path) -> None:
    async def play() -> None:
        scene = Scene(tmp_path, ticks=20)
        active = await scene.begin()
        scene.database.fault = DatabaseAwayError("away")
        settled = asyncio.create_task(active.settled())
        attempts = 0

        def note() -> None:
            nonlocal attempts
            attempts += 1
            assert scene.writer.budget.used > len(LARGE), "the result counts while it is kept"
            if attempts == len(RETRY_SECONDS) - 1:
                assert not settled.done()

        scene.on_tick = note
        await scene.end(active)
        assert settled.done()
        assert attempts == 20
        assert scene.writer.budget.used == 0
        found, events = await scene.stored()
        assert (found.status, found.result["content"], events) == ("COMPLETED", LARGE, ["RunCompleted"])

    asyncio.run(play())


def test_a_result_that_the_budget_does_not_hold_becomes_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        scene = Scene(tmp_path, max_bytes=len(LARGE) // 2, ticks=3)
        active = await scene.begin()
        scene.database.fault = DatabaseAwayError("away")
        await scene.end(active)
        found, events = await scene.stored()
        assert (found.status, found.result["content"]) == ("ERROR", LOST_RESULT)
        assert (found.result["metadata"], events) == ({"trace_id": "t"}, ["RunError"])

    asyncio.run(play())
    assert f"run r: {LOST_RESULT}" in caplog.text


def test_a_result_that_fits_is_stored_at_once_whatever_the_budget(tmp_path: Path) -> None:
    async def play() -> None:
        scene = Scene(tmp_path, max_bytes=1)
        await scene.end(await scene.begin())
        assert (await scene.stored())[0].status == "COMPLETED"

    asyncio.run(play())


def test_a_run_that_lost_events_is_an_error_and_not_unfinished(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        scene = Scene(tmp_path)
        active = await scene.begin()
        scene.database.fault = OSError("disk full")
        for _ in range(MAX_UNSTORED_EVENTS + 1):
            active.emit({"event": "RunContent", "content": ""})
        await scene.writer.flushed()
        scene.database.fault = None
        await scene.end(active)
        found, events = await scene.stored()
        assert (found.status, found.result["content"], events) == ("ERROR", LOST_EVENTS, ["RunError"])

    asyncio.run(play())
    assert f"run r: {LOST_EVENTS}" in caplog.text


def test_an_end_that_the_database_rejects_is_stored_as_an_error(tmp_path: Path) -> None:
    async def play() -> None:
        scene = Scene(tmp_path)
        active = await scene.begin()
        scene.database.rejects = True
        await scene.end(active)
        found, _ = await scene.stored()
        assert (found.status, found.result["content"]) == ("ERROR", REJECTED)

    asyncio.run(play())


def test_a_beginning_whose_commit_is_in_doubt_is_undone(tmp_path: Path) -> None:
    async def play() -> None:
        scene = Scene(tmp_path)
        await scene.writer.open()
        tasks = RunTasks()
        scene.database.breaks_commits = True
        with pytest.raises(UnavailableError):
            await tasks.begin_run(
                scene.writer,
                "r",
                lambda database: database.begin(SESSION, record()),
                lambda database: end_if_unfinished(database, "r"),
            )
        with pytest.raises(UnavailableError, match="run r is being restored"):
            await tasks.begin_run(scene.writer, "r", lambda _: None, lambda _: None)
        await tasks.wait(10)
        found, events = await scene.stored()
        assert (found.status, events) == ("ERROR", ["RunError"])

    asyncio.run(play())
