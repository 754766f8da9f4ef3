"""The processor time for callers that nobody knows yet: clients that flood the service with bad tokens are rejected.

Rejecting a token takes time on the event loop that all callers share, so a flood of them would make everybody wait. The
budget is a part of one core, divided among addresses. It is spent by requests whose caller is not known in the end.
Source: `docs/reference/limits.md#clients-that-nobody-knows`.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from types import coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from spanwise.errors import UnavailableError
from spanwise.fair_budget import FairBudget
from spanwise.metrics import Counter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

BURST_SECONDS = 0.5
"""What the budget holds when nobody used it, as the time in which it is refilled."""
REFILL_SECONDS = 0.005
"""How often it is refilled."""
WAITING_BYTES = 4 * 1024 * 1024
"""Memory of the requests that wait for their turn."""
REQUEST_BYTES = 16 * 1024
"""Memory that a waiting request takes beside its head: its connection and its task."""
_NANOSECONDS = 1_000_000_000

Result = TypeVar("Result")


class ProcessorBudget:
    """Divides the processor time for unknown callers among their addresses. Used on the event loop only.

    What a request costs is known afterwards, so a caller that is within its share may exceed it by one request. What is
    used is given back as time passes, to each caller in proportion. What waits for its turn has a budget as well: on a
    busy machine requests come faster than turns.

    Attributes:
        seconds: counts the processor time that unknown callers took.
        rejections: counts the requests that were rejected without any work on their token.
    """

    def __init__(self, share: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Creates a budget that nobody uses.

        Args:
            share: the part of one processor core.
            clock: monotonic time in seconds.
        """
        self.seconds = Counter(
            "spanwise_unknown_callers_processor_seconds_total", "Processor time of requests whose caller is not known."
        )
        self.rejections = Counter(
            "spanwise_unknown_callers_rejected_total", "Requests that were rejected without reading their token."
        )
        self._rate = share * _NANOSECONDS
        burst = round(self._rate * BURST_SECONDS)
        self._time = FairBudget(burst, "too many requests without a verified token at once")
        self._waiting = FairBudget(WAITING_BYTES, "too many waiting requests without a verified token")
        self._turn = asyncio.Lock()
        self._clock = clock
        self._refilled_at = clock()

    async def admit(self, caller: str, head_bytes: int) -> None:
        """Waits for the turn of an unknown caller: one is served at a time, and what is ready of known ones in between.

        Args:
            caller: its address.
            head_bytes: the size of the request's head, which is in memory while it waits.

        Raises:
            UnavailableError: the budget, or the caller's share of it, is used up, maybe by those before it; or too many
                requests wait.
        """
        try:
            self._take_time(caller)
            await self._wait_for_turn(caller, head_bytes + REQUEST_BYTES)
            self._take_time(caller)
        except UnavailableError:
            self.rejections.add()
            raise

    def _take_time(self, caller: str) -> None:
        self._refill()
        self._time.change(caller, 1, is_checked=True)

    async def _wait_for_turn(self, caller: str, size: int) -> None:
        self._waiting.change(caller, size, is_checked=True)
        try:
            async with self._turn:
                await asyncio.sleep(0)
        finally:
            self._waiting.change(caller, -size, is_checked=False)

    def count(self, caller: str, nanoseconds: int) -> None:
        """Counts processor time that a caller took."""
        self.seconds.add(by=nanoseconds / _NANOSECONDS)
        self._time.change(caller, nanoseconds, is_checked=False)

    async def run(self, caller: str, work: Awaitable[Result], is_known: Callable[[], bool]) -> Result:
        """Does some work for a caller, and counts the processor time of each step after which it is still unknown.

        Args:
            caller: its address.
            work: what is done for it.
            is_known: returns whether the caller is known by now.
        """
        return await _metered(
            work.__await__(), lambda nanoseconds: None if is_known() else self.count(caller, nanoseconds)
        )

    def _refill(self) -> None:
        passed = self._clock() - self._refilled_at
        if passed >= REFILL_SECONDS:
            self._refilled_at += passed
            self._time.drain(round(passed * self._rate))


@coroutine
def _metered(work: Generator[Any, Any, Result], count: Callable[[int], None]) -> Generator[Any, Any, Result]:
    """Does what an awaitable does, and counts the nanoseconds that its thread was busy, step by step."""
    step: Callable[[], Any] = partial(work.send, None)
    while True:
        begun = time.thread_time_ns()
        try:
            awaited = step()
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            count(time.thread_time_ns() - begun)
        try:
            step = partial(work.send, (yield awaited))
        except BaseException as error:  # noqa: BLE001  # it is for the work to handle, a cancellation too
            step = partial(work.throw, error)
