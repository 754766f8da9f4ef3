"""The slots of downloads: acquiring, waiting and reassigning.

Slots are few because each download takes memory, and readers may be slow. A caller with many slots must therefore give
some up while others wait: `docs/reference/limits.md`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from spanwise.errors import UnavailableError
from spanwise.fair_budget import FairBudget, Lease, current_caller

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

MAX_DOWNLOADS = 8
"""Concurrent downloads."""
MAX_WAITING = 64
"""Downloads that wait for a slot."""
WAIT_SECONDS = 10.0
"""How long a download waits for a slot."""
UNUSED_SECONDS = 5.0
"""A reader that reads nothing for this long may lose its slot to a caller with fewer slots. Any reader may lose its
slot once a caller with fewer has waited this long."""
_POLL_SECONDS = 0.25


class RunningDownload:
    """A download in progress.

    Attributes:
        slot: the lease of its slot.
        export: produces its chunks; None before the start and after a cancellation.
        waits_since: when its reader got the last chunk, in monotonic time; infinite while a chunk is produced.
        is_preempted: True if it lost its slot.
    """

    def __init__(self, slot: Lease) -> None:
        """Holds a slot that is already counted."""
        self.slot = slot
        self.export: Iterator[bytes] | None = None
        self.waits_since = math.inf
        self.is_preempted = False

    def cut(self) -> None:
        """Gives its slot and its memory to another caller. The next read of this download fails."""
        self.is_preempted = True
        self.export = None
        self.slot.release()


class _Waiting(NamedTuple):
    """A caller that waits for a slot, and the start of its wait in monotonic time."""

    caller: str
    since: float
    slot: asyncio.Future[Lease]


class DownloadSlots:
    """Divides the download slots among callers. Used on one event loop."""

    def __init__(self) -> None:
        """Starts with all slots free."""
        self._slots = FairBudget(MAX_DOWNLOADS, f"more than {MAX_DOWNLOADS} exports at once")
        self._queue = FairBudget(MAX_WAITING, f"more than {MAX_WAITING} exports wait")
        self._running: set[RunningDownload] = set()
        self._waiting: list[_Waiting] = []

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[RunningDownload, None]:
        """Yields a download of the current caller, which holds a slot until the end of the block or until it is cut.

        A caller with fewer than half of the slots waits for one, and may take it from a caller with more.

        Raises:
            UnavailableError: the caller has its maximum of half the slots, or no slot became free in time.
        """
        running = RunningDownload(await self._take())
        self._running.add(running)
        try:
            yield running
        finally:
            self._running.discard(running)
            running.slot.release()
            self._serve_those_who_wait()

    async def _take(self) -> Lease:
        caller = current_caller.get()
        may_wait = self._slots.held(caller) < MAX_DOWNLOADS // 2
        if not self._waiting or not may_wait:
            try:
                return self._slots.take()
            except UnavailableError:
                if not may_wait:
                    raise
        with self._queue.take():
            waiting = _Waiting(caller, time.monotonic(), asyncio.get_running_loop().create_future())
            self._waiting.append(waiting)
            try:
                return await self._wait(waiting)
            except asyncio.CancelledError:
                if waiting.slot.done():
                    waiting.slot.result().release()
                raise
            finally:
                self._waiting.remove(waiting)

    async def _wait(self, waiting: _Waiting) -> Lease:
        """Returns a slot as soon as one is free.

        Raises:
            UnavailableError: no slot became free in time.
        """
        while True:
            self._serve_those_who_wait()
            if not waiting.slot.done() and self._make_room(waiting):
                self._serve_those_who_wait()
            if waiting.slot.done():
                return waiting.slot.result()
            if time.monotonic() >= waiting.since + WAIT_SECONDS:
                return self._slots.take()  # raises, because no slot is free
            await asyncio.wait([waiting.slot], timeout=_POLL_SECONDS)

    def _serve_those_who_wait(self) -> None:
        """Assigns free slots to waiting callers: fewest slots first, then longest wait first."""
        unserved = [each for each in self._waiting if not each.slot.done()]
        for waiting in sorted(unserved, key=lambda each: (self._slots.held(each.caller), each.since)):
            if self._slots.allows(waiting.caller):
                slot = Lease(self._slots, waiting.caller)
                slot.add(1)
                waiting.slot.set_result(slot)

    def _make_room(self, waiting: _Waiting) -> bool:
        """Cuts a download of the caller with the most slots. Returns True if it did.

        That caller must still have as many slots as the waiting caller after the cut.
        """
        running = [each for each in self._running if not each.is_preempted]
        callers = Counter(each.slot.caller for each in running).most_common(1)
        if not callers or callers[0][1] <= self._slots.held(waiting.caller) + 1:
            return False
        own = [each for each in running if each.slot.caller == callers[0][0]]
        longest = min(own, key=lambda each: each.waits_since)
        if time.monotonic() < min(longest.waits_since, waiting.since) + UNUSED_SECONDS:
            return False
        longest.cut()
        return True
