"""A budget shared by callers, so that no caller can take all of it.

A caller may hold up to `SHARE_FACTOR` times the free amount. One caller gets 3/4 of the budget, two get 3/7 each, and n
get 3/(3n + 1) each. Part of every budget therefore stays free for the next caller, and the number of callers need not
be known. Switches share their buffers among ports by the same rule (dynamic thresholds). `docs/reference/limits.md`
lists all budgets.
"""

from __future__ import annotations

from contextvars import ContextVar
from threading import RLock
from typing import TYPE_CHECKING

from spanwise.errors import UnavailableError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

SHARE_FACTOR = 3
"""The most that a caller may hold, as a multiple of the free amount."""

current_caller: ContextVar[str] = ContextVar("current_caller", default="")
"""The key of the current caller: its user, or its address if it is not authenticated. Empty for work of the service
itself, which has no share.
"""


class FairBudget:
    """Divides a number of slots or bytes among callers. May be used from any thread.

    Attributes:
        capacity: the total amount.
        used: the amount that all callers hold together.
        lock: protects all amounts, including the amounts of its leases.
    """

    def __init__(self, capacity: int, message: str, whole: int = 1) -> None:
        """Creates an unused budget.

        Args:
            capacity: the total amount.
            message: the error message for a rejected caller.
            whole: the largest amount of one request. A caller may hold this much if it is free, regardless of its
                share.
        """
        self.capacity = capacity
        self.used = 0
        self._message = message
        self._whole = whole
        self._held: dict[str, int] = {}
        self.lock = RLock()  # what is collected as garbage may release its lease while this thread is in here

    @property
    def largest_share(self) -> int:
        """Returns how much a caller may hold while it is alone."""
        return self.capacity * SHARE_FACTOR // (SHARE_FACTOR + 1)

    def held(self, caller: str) -> int:
        """Returns the amount that one caller holds."""
        return self._held.get(caller, 0)

    def allows(self, caller: str, amount: int = 1) -> bool:
        """Returns whether a caller may take `amount` now."""
        left = self.capacity - self.used - amount
        wanted = self.held(caller) + amount
        return left >= 0 and (not caller or wanted <= self._whole or wanted <= SHARE_FACTOR * left)

    def expect_available(self) -> None:
        """Checks that the current caller may take more.

        Raises:
            UnavailableError: the budget or the caller's share is used up.
        """
        if not self.allows(current_caller.get()):
            raise UnavailableError(self._message)

    def hold(self) -> Lease:
        """Returns an empty lease for the current caller."""
        return Lease(self, current_caller.get())

    def take(self, amount: int = 1) -> Lease:
        """Takes `amount` for the current caller until it is released.

        Raises:
            UnavailableError: the budget or the caller's share is used up.
        """
        lease = self.hold()
        lease.add(amount)
        return lease

    def change(self, caller: str, amount: int, *, is_checked: bool) -> None:
        """Changes the amount that a caller holds. Callers use a `Lease` instead.

        Raises:
            UnavailableError: `is_checked` is set, and the budget or the caller's share is used up.
        """
        with self.lock:
            if is_checked and amount and not self.allows(caller, amount):
                raise UnavailableError(self._message)
            self.used += amount
            held = self._held.get(caller, 0) + amount
            if held:
                self._held[caller] = held
            else:
                self._held.pop(caller, None)

    def drain(self, amount: int) -> None:
        """Releases up to `amount` from all callers, in proportion to the amounts they hold.

        This is for budgets that refill with time, which have no `Lease`.
        """
        with self.lock:
            left = max(0, self.used - amount)
            reduced = ((caller, held * left // self.used) for caller, held in self._held.items())
            self._held = {caller: held for caller, held in reduced if held}
            self.used = sum(self._held.values())


class Lease:
    """A lease on a part of a budget. As a context manager, it is released at the end of the block.

    Attributes:
        caller: the key of the caller.
        amount: the leased amount.
    """

    def __init__(self, budget: FairBudget, caller: str) -> None:
        """Creates an empty lease."""
        self.caller = caller
        self.amount = 0
        self._budget = budget
        self._is_closed = False

    def __enter__(self) -> Self:
        """Returns itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Closes the lease."""
        self.close()

    @property
    def capacity(self) -> int:
        """Returns how much there is for all callers."""
        return self._budget.capacity

    @property
    def largest_share(self) -> int:
        """Returns how much a caller may hold while it is alone."""
        return self._budget.largest_share

    @property
    def is_at_its_share(self) -> bool:
        """Returns whether the caller may take no more."""
        return not self._budget.allows(self.caller)

    def add(self, amount: int) -> None:
        """Takes `amount` more.

        Raises:
            UnavailableError: the budget or the caller's share is used up, or the lease is closed.
        """
        with self._budget.lock:
            if self._is_closed:
                raise UnavailableError("the request ended before its data was read")
            self._budget.change(self.caller, amount, is_checked=True)
            self.amount += amount

    def resize(self, amount: int) -> None:
        """Sets the leased amount.

        Raises:
            UnavailableError: it grows, and the budget or the caller's share is used up.
        """
        if amount > self.amount:
            self.add(amount - self.amount)
        else:
            self.count(amount - self.amount)

    def count(self, amount: int) -> None:
        """Adds an amount that is already in use, even beyond the budget. A negative amount is released."""
        self._budget.change(self.caller, amount, is_checked=False)
        self.amount += amount

    def release(self) -> None:
        """Releases the whole amount."""
        self.count(-self.amount)

    def close(self) -> None:
        """Releases the whole amount. A thread that still works for a cancelled request cannot take more."""
        with self._budget.lock:
            self._is_closed = True
            self.release()
