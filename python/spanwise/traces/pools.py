"""A bounded thread pool with admission control, so that the event loop never blocks and no queue is unbounded."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from spanwise.errors import StoreClosedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

Result = TypeVar("Result")


class Pool:
    """Threads for one kind of work. Work beyond the capacity is rejected at once.

    Attributes:
        capacity: how many work items may run or wait.
        admitted: how many do now.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        """Creates a pool; threads start on demand.

        Args:
            name: the kind of work, for messages and thread names.
            threads: how many work items run at once.
            waiting: how many more may wait for a thread.
        """
        self._name = name
        self.capacity = threads + waiting
        self.admitted = 0
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"spanwise-{name}")

    async def run(self, work: Callable[[], Result]) -> Result:
        """Returns the result of `work`, which runs in a thread of the pool.

        Cancelling the caller removes waiting work from the queue. Running work keeps its slot until it ends, so
        abandoned work still counts against the capacity.

        Raises:
            UnavailableError: the pool is at capacity.
            StoreClosedError: the pool was closed.
        """
        self._admit()
        try:
            future = self._threads.submit(work)
        except RuntimeError as error:
            self._release(None)
            raise StoreClosedError("the service is shutting down") from error
        future.add_done_callback(self._release)
        try:
            return await asyncio.wrap_future(future)
        finally:
            # A failed future holds its error, whose traceback holds this frame: without the `del`, request bodies
            # would live until the garbage collector breaks the cycle.
            del future

    def close(self) -> None:
        """Waits for running work and drops waiting work."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _admit(self) -> None:
        with self._lock:
            if self.admitted >= self.capacity:
                raise UnavailableError(f"too many requests for {self._name} at once")
            self.admitted += 1

    def _release(self, _future: Future[Result] | None) -> None:
        with self._lock:
            self.admitted -= 1
