"""The rate limit for rejected requests: clients that flood the service with bad tokens wait, and nobody else does.

Rejecting a request takes time on the event loop that all clients share. A client reads its response before it sends the
next request on the same connection, so delaying responses bounds how often it asks. Authenticated callers never wait.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class RateLimiter:
    """Spaces events evenly, first come first served, at a fixed rate per second."""

    def __init__(self, per_second: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Creates a limiter whose first event is not delayed.

        Args:
            per_second: the rate; at least 1.
            clock: monotonic time in seconds.
        """
        self._interval = 1 / per_second
        self._clock = clock
        self._next = clock()

    def delay(self) -> float:
        """Reserves the next slot; returns the seconds until it, 0 if it is now."""
        now = self._clock()
        slot = max(self._next, now)
        self._next = slot + self._interval
        return slot - now
