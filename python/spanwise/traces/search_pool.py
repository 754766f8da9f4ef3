"""Searches of all stores: threads, a deadline for each search, and what they cost."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, TypeVar

from spanwise._engine import Cancel
from spanwise.errors import UnavailableError
from spanwise.metrics import Histogram
from spanwise.traces.pools import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.settings import Settings

Result = TypeVar("Result")


class Searching:
    """Runs searches in bounded threads. Who leaves, or comes too late, cancels its search."""

    def __init__(self, settings: Settings) -> None:
        """Prepares the threads.

        Args:
            settings: how many threads, how many may wait, how long.
        """
        self.pool = Pool("search", settings.search_threads, settings.search_queue_size)
        self.seconds = Histogram("spanwise_search_duration_seconds", "Duration of searches by phase.", "phase")
        self._deadline_seconds = settings.search_deadline_seconds
        self._cancels: set[Cancel] = set()

    async def run(self, work: Callable[[Cancel], Result]) -> Result:
        """Returns what `work` returns, done in a thread of the searches.

        Raises:
            UnavailableError: too many searches at once, or no answer before the deadline.
        """
        cancel = Cancel()
        self._cancels.add(cancel)
        asked = time.perf_counter()

        def timed() -> tuple[Result, float, float]:
            begun = time.perf_counter()
            return work(cancel), begun, time.perf_counter()

        try:
            async with asyncio.timeout(self._deadline_seconds):
                result, begun, ended = await self.pool.run(timed)
        except TimeoutError as error:
            raise UnavailableError(f"the search took longer than {self._deadline_seconds:g} s") from error
        finally:
            cancel.cancel()
            self._cancels.discard(cancel)
        self.seconds.add("waiting", seconds=begun - asked)
        self.seconds.add("engine", seconds=ended - begun)
        return result

    def cancel(self) -> None:
        """Cancels every search that is under way."""
        for cancel in self._cancels:
            cancel.cancel()
