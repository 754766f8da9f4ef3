"""The code in the process of a gateway."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from spanwise.app import Service
from spanwise.errors import ConfigurationError, SpanwiseError, UnavailableError
from spanwise.http.listeners import expect_free
from spanwise.http.server import serve
from spanwise.http.shutdown_signals import Shutdown
from spanwise.settings import load_settings

if sys.platform != "win32":
    import uvloop

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from spanwise.http.server import Addresses

STOP_SECONDS = 10.0
"""Seconds that a gateway may take to close after its requests have ended."""
_RETRY_SECONDS = 1.0
_EVERY_ADDRESS = {"0.0.0.0", "::"}  # only compared with; no socket listens there
_log = logging.getLogger(__name__)


class FrontPlan(Struct, frozen=True):
    """The configuration of a gateway process.

    Attributes:
        settings: the settings that are not defaults, as `Service` takes them.
        ports: the number of ports to try, from `port` on. The gateway listens on the first free one.
    """

    settings: dict[str, Any]
    ports: int


class FrontPlace(Struct, frozen=True):
    """The location of a gateway.

    Attributes:
        host: the name of its machine.
        process_id: the id of its process there.
        url: the address where it listens; None if it does not listen.
        error: why it does not serve; None if it does.
    """

    host: str
    process_id: int
    url: str | None
    error: str | None


class FrontActor:
    """The gateway service of this process. Its methods are called from several threads at once.

    A thread serves it, and restarts it when it ends unexpectedly.
    """

    def __init__(self, plan: FrontPlan) -> None:
        """Starts to serve."""
        self._plan = plan
        self._url: str | None = None
        self._error: str | None = "it is being opened"
        self._is_opened = threading.Event()
        self._is_stopping = threading.Event()
        self._stop: Callable[[], object] = self._is_stopping.set
        self._thread = threading.Thread(target=self._work, name="spanwise-front", daemon=True)
        self._thread.start()

    def open(self, seconds: float) -> FrontPlace:
        """Returns the location of the gateway, once it serves.

        Args:
            seconds: the time limit.

        Raises:
            UnavailableError: it did not open, or not in time; the message has the reason.
        """
        self._is_opened.wait(seconds)
        place = self.place()
        if place.error is not None:
            raise UnavailableError(place.error)
        return place

    def place(self) -> FrontPlace:
        """Returns its location, and whether it serves."""
        return FrontPlace(socket.gethostname(), os.getpid(), self._url, self._error)

    def stop(self) -> None:
        """Waits until all requests have ended and everything is closed, or the time limit is reached."""
        self._is_stopping.set()
        self._stop()
        self._thread.join(load_settings(self._plan.settings).drain_seconds + STOP_SECONDS)

    def _work(self) -> None:
        while not self._is_stopping.is_set():
            try:
                uvloop.run(self._begin())
            except SpanwiseError as error:
                self._fail(str(error))
            except Exception as error:  # noqa: BLE001  # it begins anew, and says why it had ended
                _log.exception("a front door has ended")
                self._fail(f"{type(error).__name__}: {error}")
            self._url = None
            self._is_stopping.wait(_RETRY_SECONDS)

    def _fail(self, error: str) -> None:
        self._error = error
        self._is_opened.set()

    def _begin(self) -> Coroutine[None, None, None]:
        """Returns the coroutine of the service. No method is async, because Ray runs all async methods in one loop."""
        service = _Front(self._plan.settings | {"port": self._port()}, self._opened)

        async def run() -> None:
            loop = asyncio.get_running_loop()

            def shutdown() -> Shutdown:
                made = Shutdown()
                self._stop = lambda: loop.call_soon_threadsafe(made.shutdown.set)
                if self._is_stopping.is_set():
                    made.shutdown.set()
                return made

            try:
                await serve(service, self._announce, shutdown)
            finally:
                self._stop = self._is_stopping.set

        return run()

    def _port(self) -> int:
        """Returns the first free port; the last one if all others are taken.

        Raises:
            ConfigurationError: the settings are invalid.
        """
        first = load_settings(self._plan.settings).port
        *others, last = range(first, first + self._plan.ports)
        for port in others:
            try:
                expect_free(load_settings(self._plan.settings | {"port": port}))
            except ConfigurationError:
                continue
            return port
        return last

    def _announce(self, addresses: Addresses) -> None:
        scheme, _, address = addresses.main.partition("://")
        host, _, port = address.rpartition(":")
        known = socket.gethostname() if host.strip("[]") in _EVERY_ADDRESS else host
        self._url = f"{scheme}://{known}:{port}"
        _log.info("listening on %s", addresses.main)

    def _opened(self) -> None:
        self._error = None
        self._is_opened.set()


class _Front(Service):
    def __init__(self, settings: dict[str, Any], opened: Callable[[], None]) -> None:
        super().__init__(settings=settings)
        self.configure({}, None)
        self._has_opened = opened

    async def open(self) -> None:
        """Opens the service and reports that it is open."""
        await super().open()
        self._has_opened()
