"""The thread pool of all searches, with a deadline for each and counters of their time."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

from spanwise._engine import CancellationToken
from spanwise.errors import UnavailableError
from spanwise.metrics import Histogram
from spanwise.pools.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.settings import Settings

Result = TypeVar("Result")


class SearchPool:
    """Runs searches in bounded threads. A search is cancelled when its caller leaves or its deadline passes.

    Attributes:
        pool: the threads.
        seconds: the time spent waiting for a thread and in the engine.
    """

    def __init__(self, settings: Settings) -> None:
        """Creates the pool with the thread count, queue length and deadline of `settings`."""
        self.pool = Pool("search", settings.search_threads, settings.search_queue_size)
        self.seconds = Histogram("spanwise_search_duration_seconds", "Duration of searches by phase.", "phase")
        self._deadline_seconds = settings.search_deadline_seconds
        self._cancels: set[CancellationToken] = set()

    async def run(self, work: Callable[[CancellationToken], Result]) -> Result:
        """Returns the result of `work`, which runs in a thread of the pool.

        Raises:
            UnavailableError: too many searches are running, or the deadline passed.
        """
        cancel = CancellationToken()
        self._cancels.add(cancel)
        submitted = time.perf_counter()

        def timed() -> tuple[Result, float, float]:
            begun = time.perf_counter()
            return work(cancel), begun, time.perf_counter()

        try:
            async with asyncio.timeout(self._deadline_seconds):
                result, begun, ended = await self.pool.run(timed)
        except TimeoutError as error:
            seconds = f"{self._deadline_seconds:g} s"
            raise UnavailableError(f"the search took longer than {seconds}; narrow the time range") from error
        finally:
            cancel.cancel()
            self._cancels.discard(cancel)
        self.seconds.add("waiting", seconds=begun - submitted)
        self.seconds.add("engine", seconds=ended - begun)
        return result

    def cancel(self) -> None:
        """Cancels every running search."""
        for cancel in self._cancels:
            cancel.cancel()
