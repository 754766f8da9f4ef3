"""A circuit breaker for a shard. After several failures the shard receives no requests until a probe succeeds."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from spanwise.errors import SpanwiseError

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_FAILURES = 3
"""After this many failures in a row, a shard receives no more requests."""
PROBE_SECONDS = 0.25
"""The time between two probes of a shard with an open breaker."""


class Breaker:
    """Counts the failures of a shard.

    Attributes:
        is_open: True while the shard receives no requests.
        openings: the number of times the breaker has opened.
    """

    def __init__(self, probe: Callable[[], None]) -> None:
        """Starts closed.

        Args:
            probe: returns if the shard responds, and raises an error soon if it does not.
        """
        self.is_open = False
        self.openings = 0
        self._probe = probe
        self._failures = 0
        self._lock = threading.Lock()
        self._is_probing = False
        self._closed = threading.Event()

    def succeeded(self) -> None:
        """Records a response of the shard."""
        if self._failures:
            with self._lock:
                self._failures = 0

    def failed(self) -> None:
        """Records a call without a response."""
        with self._lock:
            self._failures += 1
            if self._failures < MAX_FAILURES:
                return
        self._open()
        self._begin_probing()

    def suspect(self) -> None:
        """Probes the shard because a call is slow. The breaker opens if the probe fails too."""
        self._begin_probing()

    def close(self) -> None:
        """Stops probing."""
        self._closed.set()

    def _open(self) -> None:
        with self._lock:
            self.openings += not self.is_open
            self.is_open = True

    def _begin_probing(self) -> None:
        with self._lock:
            if self._is_probing or self._closed.is_set():
                return
            self._is_probing = True
        threading.Thread(target=self._work, name="spanwise-probe", daemon=True).start()

    def _work(self) -> None:
        while not self._closed.is_set():
            try:
                self._probe()
            except SpanwiseError:
                self._open()
                self._closed.wait(PROBE_SECONDS)
                continue
            break
        with self._lock:
            self.is_open = self._is_probing = False
            self._failures = 0
