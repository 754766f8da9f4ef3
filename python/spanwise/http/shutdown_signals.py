"""What the signals SIGTERM and SIGINT do to the process of a service.

See `docs/settings.md#shutdown`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading

EXIT_SECONDS = 1.5
"""The process exits this long after the drain deadline, or after a second signal, whatever still runs. What was
acknowledged is durable."""
SIGNAL_EXIT_CODE = 128
"""A process that was ended before all was closed exits with this plus the number of the signal, as it would without
handlers."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_log = logging.getLogger(__name__)


class Shutdown:
    """How a service is asked to stop. It is made and used on the event loop that serves.

    Attributes:
        shutdown: set to have it stop.
        hurry: set to have it stop without waiting for requests and runs.
    """

    def __init__(self) -> None:
        """Begins with a service that is to serve."""
        self.shutdown, self.hurry = asyncio.Event(), asyncio.Event()

    def ignore(self) -> None:
        """Takes no requests to stop any more: everything is closed."""


class ShutdownSignals(Shutdown):
    """Handles both signals until the process ends: the first one stops the service, the second one hurries that.

    The handlers are not those of the event loop: it removes its own when it is closed, and a signal after that would
    still end a process that has stopped in order. A third signal ends the process at once.
    """

    def __init__(self, drain_seconds: float) -> None:
        """Begins to handle signals. Called in the main thread, on the event loop that serves.

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
        """Ignores all signals from now on: everything is closed, and the process ends by itself.

        If a thread of a component keeps it from ending, it does so after `EXIT_SECONDS` all the same.
        """
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        for timer in self._exits:  # what is closed in time may not fail for the moment that its end takes
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
    _log.warning("ended before all was finished; what was acknowledged is durable")
    logging.shutdown()
    os._exit(SIGNAL_EXIT_CODE + number)
