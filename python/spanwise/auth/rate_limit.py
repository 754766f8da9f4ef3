"""The pace of refusals: who floods a service with bad tokens waits for its answers, and nobody else does.

A refusal takes work of the one event loop that serves everybody. A sender takes its answer before it asks again
over the same connection, so answers at a pace bound how often it asks. Callers that are known never wait here.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class RefusalPace:
    """Gives every refusal its turn, in order, at most so many a second."""

    def __init__(self, per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Begins with the first turn free.

        Args:
            per_second: turns of a second; 1 at least.
            clock: seconds, never going back.
        """
        self._interval = 1 / per_second
        self._clock = clock
        self._next = clock()

    def delay(self) -> float:
        """Takes the next turn; returns the seconds until it comes, 0 if it is now."""
        now = self._clock()
        turn = max(self._next, now)
        self._next = turn + self._interval
        return turn - now
