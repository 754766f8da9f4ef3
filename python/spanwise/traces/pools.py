"""Bounded threads behind an admission: the event loop never works, and nothing waits without limit."""

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
    """Threads for one kind of work. What finds neither a thread nor a place to wait is refused at once.

    Attributes:
        places: how many pieces of work may run or wait.
        taken: how many do.
    """

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        """Prepares a pool; threads start as they are needed.

        Args:
            name: what the work is, for messages and thread names.
            threads: how many pieces of work run at once.
            waiting: how many more may wait for a thread.
        """
        self._name = name
        self.places = threads + waiting
        self.taken = 0
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"spanwise-{name}")

    async def run(self, work: Callable[[], Result]) -> Result:
        """Returns what `work` returns, done in a thread.

        A cancelled caller takes waiting work out of the queue. Work that already runs keeps its place until it
        ends, so abandoned work still counts against the bound.

        Raises:
            UnavailableError: every place is taken, or the pool was closed.
        """
        self._admit()
        try:
            future = self._threads.submit(work)
        except RuntimeError as error:
            self._leave(None)
            raise StoreClosedError("the service is shutting down") from error
        future.add_done_callback(self._leave)
        try:
            return await asyncio.wrap_future(future)
        finally:
            del future  # it holds the error whose traceback holds this frame: bodies would wait for the collector

    def close(self) -> None:
        """Waits for the work that runs, and drops the work that waits."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _admit(self) -> None:
        with self._lock:
            if self.taken >= self.places:
                raise UnavailableError(f"too many requests for {self._name} at once")
            self.taken += 1

    def _leave(self, _future: Future[Result] | None) -> None:
        with self._lock:
            self.taken -= 1
