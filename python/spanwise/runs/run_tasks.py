"""The tasks of active runs, and of steps that must complete."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, TypeVar

from spanwise.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from spanwise.database import Database, SessionKey
    from spanwise.fair_budget import Lease
    from spanwise.runs.active_run import ActiveRun
    from spanwise.runs.executor import Executor
    from spanwise.runs.storage.writer import DatabaseWriter

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


class RunTasks:
    """The asyncio tasks of one service's runs."""

    def __init__(self) -> None:
        """Creates an empty collection."""
        self._active: dict[str, ActiveRun] = {}
        self._executing: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._undoing: set[str] = set()

    def __len__(self) -> int:
        """Returns the number of active runs."""
        return len(self._active)

    def get(self, run_id: str) -> ActiveRun | None:
        """Returns an active run; None if the run is not active."""
        return self._active.get(run_id)

    def is_session_active(self, session: SessionKey) -> bool:
        """Returns True if a run of a session is active."""
        return any(active.session == session for active in self._active.values())

    def start(self, executor: Executor) -> None:
        """Starts the task of one run, which is active until the task ends."""
        run_id = executor.active.run_id
        self._active[run_id] = executor.active
        task = asyncio.create_task(executor.run(), name=f"run {run_id}")
        self._tasks.add(task)
        self._executing[run_id] = task
        task.add_done_callback(lambda done: self._remove(run_id, done))

    def release_at_end(self, active: ActiveRun, *leases: Lease) -> None:
        """Releases the leases of a run that has just started once its task ends."""

        def release(_: asyncio.Task[None]) -> None:
            for lease in leases:
                lease.release()

        self._executing[active.run_id].add_done_callback(release)

    async def shielded(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Returns the result of `work`, which completes even if the caller is cancelled."""
        return await asyncio.shield(self._begin(work))

    def begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts a step in the background, for which the shutdown waits. An error is logged."""
        task = self._begin(work)
        task.add_done_callback(_log_failure)
        return task

    async def begin_run(
        self,
        writer: DatabaseWriter,
        run_id: str,
        begin: Callable[[Database], Result],
        undo: Callable[[Database], None],
    ) -> Result:
        """Returns the result of `begin` once it is stored.

        A connection that breaks during the commit leaves the outcome unknown. `undo` then reverts `begin` in the
        background.

        Raises:
            UnavailableError: an earlier start of the same run is not undone yet.
            Exception: the error of `begin` or of the commit.
        """
        if run_id in self._undoing:
            raise UnavailableError(f"run {run_id} is being restored after a fault of the database of runs: retry")
        is_complete = False

        def work(database: Database) -> Result:
            nonlocal is_complete
            result = begin(database)
            is_complete = True
            return result

        try:
            return await writer.transact(work)
        except UnavailableError:
            if is_complete:
                self._undoing.add(run_id)
                undoing = self.begin(writer.transact_with_retries(undo))
                undoing.add_done_callback(lambda _: self._undoing.discard(run_id))
            raise

    def _begin(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def wait(self, seconds: float) -> None:
        """Waits up to `seconds` for all tasks to end by themselves."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def interrupt(self, seconds: float) -> None:
        """Interrupts active runs until no task is left.

        Args:
            seconds: the wait before runs that have become active in the meantime are interrupted as well.
        """
        while self._tasks:
            for active in list(self._active.values()):
                active.is_interrupted = True
                active.stop()
            await asyncio.wait(self._tasks, timeout=seconds)

    def _remove(self, run_id: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._active.pop(run_id, None)
        self._executing.pop(run_id, None)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.error("the next start marks a run as an error", exc_info=task.exception())
