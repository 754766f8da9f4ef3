"""A bounded thread pool with admission control. The event loop never blocks, and every queue has a limit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from spanwise.errors import StoreClosedError
from spanwise.fair_budget import FairBudget
from spanwise.pools.fair_threads import FairThreads

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


class Pool:
    """Threads for one kind of work, in which callers take turns.

    Work beyond the capacity, or beyond a caller's share of it, is rejected at once.
    """

    def __init__(self, name: str, threads: int, waiting: int, own: int = 1) -> None:
        """Creates a pool; threads start on demand.

        Args:
            name: the kind of work, for messages and thread names.
            threads: the number of shared threads.
            waiting: the number of work items that may wait.
            own: the number of work items of each caller that run without a shared thread, see `FairThreads`.
        """
        self._slots = FairBudget(threads + waiting, f"too many requests for {name} at once")
        self._threads = FairThreads(f"spanwise-{name}", threads, threads + waiting, own)

    @property
    def capacity(self) -> int:
        """Returns the maximum number of running and waiting work items."""
        return self._slots.capacity

    @property
    def admitted(self) -> int:
        """Returns the current number of running and waiting work items."""
        return self._slots.used

    async def run(self, work: Callable[[], Result], *, is_admitted: bool = False) -> Result:
        """Returns the result of `work`, which runs in a thread of the pool.

        Cancelling the caller removes waiting work from the queue. Running work keeps its slot until it ends, so
        abandoned work still counts against the capacity.

        Args:
            work: the function to call.
            is_admitted: True if the work belongs to an operation that already holds a slot, so it must not be rejected.

        Raises:
            UnavailableError: the pool is at capacity, or the caller has used its share.
            StoreClosedError: the pool was closed.
        """
        slot = self._slots.hold()
        if is_admitted:
            slot.count(1)
        else:
            slot.add(1)
        try:
            future = self._threads.submit(work)
        except StoreClosedError:
            slot.release()
            raise
        future.add_done_callback(lambda _: slot.release())
        try:
            return await asyncio.wrap_future(future)
        finally:
            # A failed future holds its error, whose traceback holds this frame. Without the `del`, request bodies would
            # live until the garbage collector breaks the cycle.
            del future

    def close(self) -> None:
        """Waits for running work and drops waiting work."""
        self._threads.close()
