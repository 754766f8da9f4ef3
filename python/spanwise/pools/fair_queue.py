"""A queue that callers share in turns, so that many requests of one caller do not delay a few of another."""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairQueue(Generic[Item]):
    """Waiting items of callers, and the number of running ones.

    The next item belongs to the caller with the fewest running items. A tie goes to the caller that used the least
    time, by start-time fair queueing: an idle caller saves up no time. Each caller's items keep their order. Not
    thread-safe.
    """

    def __init__(self) -> None:
        """Creates an empty queue."""
        self._waiting: dict[str, dict[int, Item]] = {}
        self._running: Counter[str] = Counter()
        self._used: dict[str, float] = {}
        self._now = 0.0
        self._numbers = count()

    @property
    def running(self) -> int:
        """Returns the number of running items."""
        return self._running.total()

    def add(self, caller: str, item: Item) -> int:
        """Adds an item, and returns its number."""
        number = next(self._numbers)
        self._waiting.setdefault(caller, {})[number] = item
        return number

    def remove(self, caller: str, number: int) -> None:
        """Removes a waiting item; a no-op if it is not waiting."""
        items = self._waiting.get(caller, {})
        if items.pop(number, None) is not None and not items:
            del self._waiting[caller]

    def clear(self) -> list[Item]:
        """Removes and returns all waiting items."""
        waiting = [item for items in self._waiting.values() for item in items.values()]
        self._waiting.clear()
        return waiting

    def begin(self, *, has_free: bool, own: int = 1) -> tuple[str, Item] | None:
        """Starts the next item and returns its caller and the item; None if no waiting item may run.

        Args:
            has_free: True if a shared thread is free.
            own: the number of items of each caller that may run without one.
        """
        if not self._waiting:
            return None
        caller = min(self._waiting, key=self._turn)
        if self._running[caller] >= own and not has_free:
            return None
        items = self._waiting[caller]
        number = next(iter(items))
        item = items[number]
        self.remove(caller, number)
        self._now = self._start(caller)
        self._used[caller] = self._now
        self._running[caller] += 1
        return caller, item

    def end(self, caller: str, seconds: float) -> None:
        """Ends a running item of a caller that took `seconds`."""
        self._used[caller] = self._start(caller) + seconds
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]
        if not self._running and not self._waiting:
            self._now = max(self._used.values())
        # A caller that used no more time than the others starts like a new one.
        self._used = {caller: used for caller, used in self._used.items() if used > self._now or self._running[caller]}

    def _start(self, caller: str) -> float:
        return max(self._now, self._used.get(caller, 0.0))

    def _turn(self, caller: str) -> tuple[int, float, int]:
        return self._running[caller], self._start(caller), next(iter(self._waiting[caller]))
