"""The tasks of active runs, and of the steps that must not be left half done."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from spanwise.database import SessionKey
    from spanwise.fair_budget import Holding
    from spanwise.runs.active_run import ActiveRun
    from spanwise.runs.executor import Executor

Result = TypeVar("Result")


class RunTasks:
    """The asyncio tasks of one service's runs."""

    def __init__(self) -> None:
        """Creates an empty collection."""
        self._active: dict[str, ActiveRun] = {}
        self._executing: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def __len__(self) -> int:
        """Returns the number of active runs."""
        return len(self._active)

    def get(self, run_id: str) -> ActiveRun | None:
        """Returns an active run; None if the run is not active."""
        return self._active.get(run_id)

    def is_session_active(self, session: SessionKey) -> bool:
        """Returns whether a run of a session is active."""
        return any(active.session == session for active in self._active.values())

    def start(self, executor: Executor) -> None:
        """Starts the task of one run, which is active until the task ends."""
        run_id = executor.active.run_id
        self._active[run_id] = executor.active
        task = asyncio.create_task(executor.run(), name=f"run {run_id}")
        self._tasks.add(task)
        self._executing[run_id] = task
        task.add_done_callback(lambda done: self._remove(run_id, done))

    def release_at_end(self, active: ActiveRun, *holdings: Holding) -> None:
        """Releases what was taken for a run that has just started once its task ends."""

        def release(_: asyncio.Task[None]) -> None:
            for holding in holdings:
                holding.release()

        self._executing[active.run_id].add_done_callback(release)

    async def shielded(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Returns the result of `work`, which completes even if the caller is cancelled."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def wait(self, seconds: float) -> None:
        """Waits up to `seconds` for all tasks to end by themselves."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def interrupt(self, seconds: float) -> None:
        """Interrupts active runs until no task is left.

        Args:
            seconds: how long to wait before runs that became active meanwhile are interrupted as well.
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
