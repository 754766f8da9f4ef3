"""Divides processor time of the event loop among callers, above all among unauthenticated ones.

All callers share the event loop, so a flood of requests or frames would delay every caller. A budget is a part of one
core, divided among callers. Each step of work is measured and charged. A caller over its share waits or is rejected.

Work for unauthenticated callers takes its time from one such budget, divided among addresses:

- requests of all protocols, in turns: `ProcessorBudget.admit` and `run`;
- request heads and frames that our own protocols parse, one piece at a time: `ProcessorMeter`.

Source: `docs/reference/limits.md#unknown-clients`.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from functools import partial
from types import coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from spanwise.errors import UnavailableError
from spanwise.fair_budget import FairBudget
from spanwise.metrics import Counter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterator

BURST_SECONDS = 0.5
"""The size of the full budget, as the time in which it refills."""
REFILL_SECONDS = 0.005
"""The refill interval."""
WAITING_BYTES = 4 * 1024 * 1024
"""Memory for requests that wait for their turn."""
REQUEST_BYTES = 16 * 1024
"""Memory of a waiting request in addition to its head: its connection and its task."""
_NANOSECONDS = 1_000_000_000

Result = TypeVar("Result")


class ProcessorBudget:
    """Divides processor time among callers; among addresses for unknown callers. Used on the event loop only.

    The cost of a request is only known afterwards, so a caller within its share may exceed it by one request. Used time
    comes back as time passes, to each caller in proportion. Waiting requests have a memory budget, because on a busy
    machine they arrive faster than turns.

    Attributes:
        seconds: counts the processor time that unknown callers took.
        rejections: counts the requests that were rejected without any work on their token.
    """

    def __init__(
        self,
        share: float,
        clock: Callable[[], float] = time.monotonic,
        message: str = "too many requests without a verified token at once",
    ) -> None:
        """Creates an unused budget.

        Args:
            share: the part of one processor core.
            clock: monotonic time in seconds.
            message: the error message for a caller over its share.
        """
        self.seconds = Counter(
            "spanwise_unknown_callers_processor_seconds_total", "Processor time of requests whose caller is not known."
        )
        self.rejections = Counter(
            "spanwise_unknown_callers_rejected_total", "Requests that were rejected without reading their token."
        )
        self._rate = share * _NANOSECONDS
        burst = round(self._rate * BURST_SECONDS)
        self._time = FairBudget(burst, message)
        self._waiting = FairBudget(WAITING_BYTES, "too many waiting requests without a verified token")
        self._turn = asyncio.Lock()
        self._clock = clock
        self._refilled_at = clock()

    async def admit(self, caller: str, head_bytes: int) -> None:
        """Waits for the turn of an unknown caller. One unknown caller is served at a time, between ready known callers.

        Args:
            caller: its address.
            head_bytes: the size of the request's head, which is in memory while it waits.

        Raises:
            UnavailableError: the budget or the caller's share is used up, perhaps by earlier waiters, or too many
                requests wait.
        """
        self.expect_available(caller)
        await self._wait_for_turn(caller, head_bytes + REQUEST_BYTES)
        self.expect_available(caller)

    def expect_available(self, caller: str) -> None:
        """Checks that a caller is within its share.

        Raises:
            UnavailableError: the budget or the caller's share is used up.
        """
        self._refill()
        self._take(self._time, caller, 1)

    def _take(self, budget: FairBudget, caller: str, amount: int) -> None:
        try:
            budget.change(caller, amount, is_checked=True)
        except UnavailableError:
            self.rejections.add()
            raise

    async def _wait_for_turn(self, caller: str, size: int) -> None:
        self._take(self._waiting, caller, size)
        try:
            async with self._turn:
                await asyncio.sleep(0)
        finally:
            self._waiting.change(caller, -size, is_checked=False)

    def count(self, caller: str, nanoseconds: int) -> None:
        """Charges processor time to a caller."""
        self.seconds.add(by=nanoseconds / _NANOSECONDS)
        self._time.change(caller, nanoseconds, is_checked=False)

    def held(self, caller: str) -> int:
        """Returns the nanoseconds that are charged to a caller and not yet given back."""
        return self._time.held(caller)

    def give_back(self, caller: str, nanoseconds: int) -> None:
        """Gives processor time back to a caller, at most its charge."""
        self._time.change(caller, -min(nanoseconds, self.held(caller)), is_checked=False)

    async def run(self, caller: str, work: Awaitable[Result], is_known: Callable[[], bool]) -> Result:
        """Runs work for a caller, and charges the processor time of each step after which the caller is still unknown.

        Args:
            caller: its address.
            work: the work.
            is_known: returns whether the caller has been authenticated.
        """
        return await _metered(
            work.__await__(), lambda nanoseconds: None if is_known() else self.count(caller, nanoseconds)
        )

    def _refill(self) -> None:
        passed = self._clock() - self._refilled_at
        if passed >= REFILL_SECONDS:
            self._refilled_at += passed
            self._time.drain(round(passed * self._rate))


class ProcessorMeter:
    """Measures work for one connection that cannot wait for a turn, such as parsing its frames.

    The time counts for an unknown caller until `move` names the owner of the connection.
    """

    def __init__(self, budget: ProcessorBudget, caller: str) -> None:
        """Charges `caller` in `budget`; starts at zero."""
        self._budget = budget
        self._caller = caller
        self._counted = 0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Checks that the caller is within its share, runs the block, and charges its processor time.

        Raises:
            UnavailableError: the share is used up; the block does not run.
        """
        self._budget.expect_available(self._caller)
        with self.counted():
            yield

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Runs the block and charges its processor time, even beyond the share."""
        begun = time.thread_time_ns()
        try:
            yield
        finally:
            taken = time.thread_time_ns() - begun
            self._counted += taken
            self._budget.count(self._caller, taken)

    def move(self, budget: ProcessorBudget, caller: str) -> None:
        """Charges another caller from now on, and gives back the time charged so far.

        Like a request, a connection of a known caller is not charged to its address.
        """
        self.give_back()
        self._budget, self._caller = budget, caller

    def give_back(self) -> None:
        """Gives back the time charged so far."""
        self._budget.give_back(self._caller, self._counted)
        self._counted = 0


@coroutine
def _metered(work: Generator[Any, Any, Result], count: Callable[[int], None]) -> Generator[Any, Any, Result]:
    """Runs an awaitable step by step, and counts the nanoseconds of thread time in each step."""
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
