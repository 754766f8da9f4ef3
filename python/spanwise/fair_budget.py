"""A budget that is divided among callers, so that no caller can take all of it.

A caller may hold `SHARE_FACTOR` times what is left. Alone it gets three quarters of the budget, two get three sevenths
each, and n get 3/(3n + 1) each: part of every budget stays free for a caller that comes later, and nobody has to know
how many there are. It is the rule by which switches share their buffers among ports (dynamic thresholds). Which budgets
there are: `docs/reference/limits.md`.
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
"""What a caller may hold, as a multiple of what is left."""

current_caller: ContextVar[str] = ContextVar("current_caller", default="")
"""The key of the caller that is being served: its user, or its address if nobody verified it. Empty for work of the
service itself, which needs no share."""


class FairBudget:
    """Divides a number of places or bytes among callers. May be used from any thread.

    Attributes:
        capacity: how much there is.
        used: how much all callers hold together.
    """

    def __init__(self, capacity: int, message: str, whole: int = 1) -> None:
        """Creates a budget that nobody uses.

        Args:
            capacity: how much there is.
            message: what the error says to a caller that is rejected.
            whole: what one request may need: a caller may hold this much while there is room, whatever its share.
        """
        self.capacity = capacity
        self.used = 0
        self._message = message
        self._whole = whole
        self._held: dict[str, int] = {}
        self._lock = RLock()  # what is collected as garbage may release its holding while this thread is in here

    def held(self, caller: str) -> int:
        """Returns how much one caller holds."""
        return self._held.get(caller, 0)

    def allows(self, caller: str, amount: int = 1) -> bool:
        """Returns whether a caller may take `amount` now."""
        left = self.capacity - self.used - amount
        wanted = self.held(caller) + amount
        return left >= 0 and (not caller or wanted <= self._whole or wanted <= SHARE_FACTOR * left)

    def expect_available(self) -> None:
        """Checks that the current caller may take more.

        Raises:
            UnavailableError: the budget, or the caller's share of it, is used up.
        """
        if not self.allows(current_caller.get()):
            raise UnavailableError(self._message)

    def hold(self) -> Holding:
        """Returns a holding of the current caller, which is empty yet."""
        return Holding(self, current_caller.get())

    def take(self, amount: int = 1) -> Holding:
        """Takes `amount` for the current caller until it is released.

        Raises:
            UnavailableError: the budget, or the caller's share of it, is used up.
        """
        holding = self.hold()
        holding.add(amount)
        return holding

    def change(self, caller: str, amount: int, *, is_checked: bool) -> None:
        """Changes what a caller holds; callers use a `Holding` instead.

        Raises:
            UnavailableError: `is_checked`, and the budget, or the caller's share of it, is used up.
        """
        with self._lock:
            if is_checked and amount and not self.allows(caller, amount):
                raise UnavailableError(self._message)
            self.used += amount
            held = self._held.get(caller, 0) + amount
            if held:
                self._held[caller] = held
            else:
                self._held.pop(caller, None)

    def drain(self, amount: int) -> None:
        """Releases `amount`, or all there is, from all callers in proportion to what they hold.

        It is for what is used up and comes back with time: nobody has a `Holding` of it.
        """
        with self._lock:
            left = max(0, self.used - amount)
            kept = ((caller, held * left // self.used) for caller, held in self._held.items())
            self._held = {caller: held for caller, held in kept if held}
            self.used = sum(self._held.values())


class Holding:
    """What one caller holds of a budget. As a context manager, it is released at the end of the block.

    Attributes:
        caller: the key of the caller.
        amount: how much it holds.
    """

    def __init__(self, budget: FairBudget, caller: str) -> None:
        """Holds nothing yet."""
        self.caller = caller
        self.amount = 0
        self._budget = budget

    def __enter__(self) -> Self:
        """Begins the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Releases what is held."""
        self.release()

    @property
    def capacity(self) -> int:
        """Returns how much there is for all callers."""
        return self._budget.capacity

    @property
    def is_at_its_share(self) -> bool:
        """Returns whether the caller may take no more."""
        return not self._budget.allows(self.caller)

    def add(self, amount: int) -> None:
        """Takes `amount` more.

        Raises:
            UnavailableError: the budget, or the caller's share of it, is used up.
        """
        self._budget.change(self.caller, amount, is_checked=True)
        self.amount += amount

    def resize(self, amount: int) -> None:
        """Holds `amount` from now on.

        Raises:
            UnavailableError: it is more than before, and the budget, or the caller's share of it, is used up.
        """
        if amount > self.amount:
            self.add(amount - self.amount)
        else:
            self.count(amount - self.amount)

    def count(self, amount: int) -> None:
        """Counts `amount` more, or less, that is in use already, even beyond the budget."""
        self._budget.change(self.caller, amount, is_checked=False)
        self.amount += amount

    def release(self) -> None:
        """Releases all of it."""
        self.count(-self.amount)
