"""Handles SIGTERM and SIGINT in the process of a service.

See `docs/settings.md#shutdown`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading

EXIT_SECONDS = 1.5
"""The process exits this long after the drain deadline, or after a second signal, even if work remains. Acknowledged
data is durable."""
SIGNAL_EXIT_CODE = 128
"""A process that ends before the service is closed exits with this plus the signal number, as it would without
handlers."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_log = logging.getLogger(__name__)


class Shutdown:
    """Asks a service to stop. Create and use it on the event loop that serves.

    Attributes:
        shutdown: set to stop the service.
        hurry: set to stop the service without waiting for requests and runs.
    """

    def __init__(self) -> None:
        """Starts with both events unset."""
        self.shutdown, self.hurry = asyncio.Event(), asyncio.Event()

    def ignore(self) -> None:
        """Ignores further requests to stop, because everything is closed."""


class ShutdownSignals(Shutdown):
    """Handles both signals until the process ends: the first stops the service, the second skips the waiting.

    The event loop removes its own handlers when it closes. A later signal would then kill a process that has already
    stopped cleanly, so these handlers are installed without the loop. A third signal ends the process at once.
    """

    def __init__(self, drain_seconds: float) -> None:
        """Starts to handle signals. Call it in the main thread, on the event loop that serves.

        Args:
            drain_seconds: how long a shutdown may take.
        """
        super().__init__()
        self._drain_seconds = drain_seconds
        self._last: int | None = None
        self._exits: list[threading.Timer] = []
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            signal.signal(number, lambda received, _: loop.call_soon_threadsafe(self._take, received))

    def ignore(self) -> None:
        """Ignores further signals, because everything is closed and the process ends by itself.

        If a thread of a component keeps the process alive, it exits after `EXIT_SECONDS`.
        """
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        for timer in self._exits:  # a shutdown that met its deadline must not fail during the exit
            timer.cancel()
        if self._last is not None:
            _exit_later(EXIT_SECONDS, self._last)

    def _take(self, number: int) -> None:
        if self.hurry.is_set():
            _exit_now(number)
        (self.hurry if self.shutdown.is_set() else self.shutdown).set()
        self._last = number
        seconds = EXIT_SECONDS if self.hurry.is_set() else self._drain_seconds + EXIT_SECONDS
        self._exits.append(_exit_later(seconds, number))


def _exit_later(seconds: float, number: int) -> threading.Timer:
    timer = threading.Timer(seconds, _exit_now, (number,))
    timer.daemon = True
    timer.start()
    return timer


def _exit_now(number: int) -> None:
    _log.warning("stopped before all work was finished; acknowledged data is durable")
    logging.shutdown()
    os._exit(SIGNAL_EXIT_CODE + number)
