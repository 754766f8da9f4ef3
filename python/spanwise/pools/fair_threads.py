"""Threads for the work of callers, who take turns while it waits."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from spanwise._engine import serve_caller
from spanwise.errors import StoreClosedError
from spanwise.fair_budget import current_caller
from spanwise.pools.fair_queue import FairQueue

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


class _Task:
    """Work of a caller, and the future of its result."""

    def __init__(self, caller: str, work: Callable[[], Any]) -> None:
        self.caller = caller
        self.future: Future[Any] = Future()
        self._work = work

    def run(self) -> None:
        """Runs the work in this thread, unless it was cancelled."""
        if not self.future.set_running_or_notify_cancel():
            return
        current_caller.set(self.caller)
        serve_caller(self.caller)
        try:
            result = self._work()
        except BaseException as error:  # noqa: BLE001  # the future raises it
            self.future.set_exception(error)
            # The future holds the error, whose traceback holds this frame: see `Pool.run`.
            del self
        else:
            self.future.set_result(result)


class FairThreads:
    """Threads in which callers take turns.

    A caller without running work gets a thread at once, even when all shared threads are busy.
    """

    def __init__(self, name: str, threads: int, most: int, own: int = 1) -> None:
        """Creates the pool; threads start on demand.

        Args:
            name: the prefix of the thread names.
            threads: the number of shared threads.
            most: the maximum number of threads.
            own: the number of work items of each caller that run without a shared thread. With 0, all callers share one
                queue in FIFO order.
        """
        self._executor = ThreadPoolExecutor(most, thread_name_prefix=name)
        self._threads = threads
        self._own = own
        self._queue: FairQueue[_Task] = FairQueue()
        self._is_closed = False
        self._lock = RLock()  # the garbage collector may cancel work while this thread holds the lock

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Queues work of the current caller and returns the future of its result.

        Cancelling the future removes the work from the queue, unless it is already running.

        Raises:
            StoreClosedError: `close` was called.
        """
        task = _Task(current_caller.get(), work)
        turn = task.caller if self._own else ""
        with self._lock:
            if self._is_closed:
                raise StoreClosedError("the service is shutting down")
            number = self._queue.add(turn, task)
            task.future.add_done_callback(lambda _: self._forget(turn, number))
            if (begun := self._begin()) is not None:
                # The executor keeps its arguments while a task runs, so the thread takes the task out of a list.
                self._executor.submit(self._work, [begun])
        return task.future

    def close(self) -> None:
        """Waits for running work and drops waiting work."""
        with self._lock:
            self._is_closed = True
            waiting = self._queue.clear()
        for task in waiting:
            task.future.cancel()
        self._executor.shutdown(wait=True)

    def _forget(self, turn: str, number: int) -> None:
        """Removes a task that was cancelled while it waited."""
        with self._lock:
            self._queue.remove(turn, number)

    def _begin(self) -> tuple[str, _Task] | None:
        return self._queue.begin(has_free=self._queue.running < self._threads, own=self._own)

    def _work(self, first: list[tuple[str, _Task]]) -> None:
        """Runs tasks in this thread until no waiting task may run."""
        begun: tuple[str, _Task] | None = first.pop()
        while begun is not None:
            turn, task = begun
            since = time.perf_counter()
            task.run()
            del task, begun  # an error of the task refers to this frame
            with self._lock:
                self._queue.end(turn, time.perf_counter() - since)
                begun = self._begin()
