"""Runs the HTTP server, Granian, within the service's own process and event loop, and shuts it down gracefully.

`docs/decisions/2026-11-20-one-process.md` explains why the server is embedded, and
`docs/decisions/2026-11-21-connections.md` why the service opens the listening socket itself.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server

from spanwise.errors import ConfigurationError, SpanwiseError
from spanwise.http.websocket.upgrade import Upgrade

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spanwise.http.application import Application
    from spanwise.settings import Settings

MAX_HEADER_BYTES = 64 * 1024
"""The head of a request is never larger. One of half this size always passes: the server checks how much it has before
it reads as much again, so what lies between passes if it arrives at once."""
LAST_RESPONSES_SECONDS = 0.5
EXIT_SECONDS = 1.5
"""The process exits this long after the drain deadline, or after a second signal, whatever still runs. What was
acknowledged is durable."""
SIGNAL_EXIT_CODE = 128
"""A process that was ended before all was closed exits with this plus the number of the signal, as it would without
handlers."""
BACKLOG = 4096
"""Connections that may wait to be accepted. A client beyond them must retry, which takes its system seconds."""
RESERVED_FILES = 256
"""File descriptors reserved for the stores, the database and the program."""

_log = logging.getLogger(__name__)


async def serve(
    application: Application,
    settings: Settings,
    open_service: Callable[[], Awaitable[None]],
    drain_service: Callable[[], Awaitable[None]],
    close_service: Callable[[], Awaitable[None]],
) -> None:
    """Serves until SIGTERM or SIGINT, then stops accepting, finishes the requests under way and closes the service.

    A second signal hurries that: the service is closed without waiting for requests and runs. See
    `docs/settings.md#shutdown`.

    The port is open from the start; routes respond with 503 until the service is open.

    Args:
        application: the ASGI application, without its lifespan.
        settings: the address, the number of connections, and the deadlines.
        open_service: called while the server runs; if it fails, the server stops.
        drain_service: called at the start of the shutdown, to close WebSockets before the server cuts them off.
        close_service: called once the requests have finished, or at the drain deadline.

    Raises:
        ConfigurationError: the address is in use, or cannot be listened on.
        SpanwiseError: the service could not be opened, or the server stopped unexpectedly.
    """
    address = (settings.host, settings.port)
    server = _server(application, settings, _listen(address, settings))
    shutdown, hurry = _shutdown_signals(settings.drain_seconds + EXIT_SECONDS)
    serving = asyncio.ensure_future(server.serve())
    opening = asyncio.ensure_future(open_service())
    ending, hurrying = asyncio.ensure_future(shutdown.wait()), asyncio.ensure_future(hurry.wait())
    _log.info("listening on http://%s:%d", *address)
    try:
        await asyncio.wait([serving, opening, ending], return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            opening.result()
            _log.info("ready")
            await asyncio.wait([serving, ending], return_when=asyncio.FIRST_COMPLETED)
        if not shutdown.is_set():
            raise SpanwiseError("the server stopped unexpectedly")
    finally:
        shutdown_started = time.monotonic()
        draining = asyncio.ensure_future(drain_service())
        await asyncio.wait([draining, hurrying], return_when=asyncio.FIRST_COMPLETED)
        _stop(server)
        left = max(0.0, settings.drain_seconds - (time.monotonic() - shutdown_started))
        await asyncio.wait([serving, hurrying], timeout=left, return_when=asyncio.FIRST_COMPLETED)
        await close_service()
        await draining
        await asyncio.wait([serving], timeout=LAST_RESPONSES_SECONDS)
        ending.cancel()
        hurrying.cancel()
    _log.info("stopped")


class _BoundServer(Server):
    """Granian on a socket that is already bound."""

    listener: socket.socket

    def _init_shared_socket(self) -> None:
        holder: Any = SocketHolder  # its type stubs omit the arguments
        is_unix = False
        self._shd = holder(self.listener.detach(), is_unix, self.backlog)


def _server(application: Application, settings: Settings, listener: socket.socket) -> Server:
    connections = _connections(settings.max_connections)
    milliseconds = round(settings.header_deadline_seconds * 1000)
    server = _BoundServer(
        Upgrade(application),
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=True,
        backlog=BACKLOG,
        backpressure=connections,
        http1_settings=HTTP1Settings(header_read_timeout=milliseconds, max_buffer_size=MAX_HEADER_BYTES // 2),
        log_level=LogLevels.error,
    )
    server.listener = listener
    return server


def _connections(requested: int) -> int:
    """Returns how many connections to allow: the requested number, unless the limit on open files is too low.

    Raises the soft limit on open files if necessary.
    """
    allowed, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    if maximum != resource.RLIM_INFINITY and maximum < requested + RESERVED_FILES:
        _log.warning(
            "at most %d connections at once: the process may open no more than %d files", maximum // 2, maximum
        )
        requested = maximum // 2
    if allowed != resource.RLIM_INFINITY and allowed < requested + RESERVED_FILES:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (min(requested + RESERVED_FILES, maximum) if maximum > 0 else maximum, maximum)
        )
    return requested


def _stop(server: Server) -> None:
    server.stop()  # type: ignore[no-untyped-call]  # Granian has no types here


def expect_free(settings: Settings) -> None:
    """Checks that the service can listen on its address.

    Raises:
        ConfigurationError: the address is in use, or cannot be listened on.
    """
    _listen((settings.host, settings.port), settings).close()


def _listen(address: tuple[str, int], settings: Settings) -> socket.socket:
    """Returns the listening socket. Its connections inherit its options."""
    try:
        family, kind, protocol, _, resolved = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if sys.platform == "linux":
                milliseconds = round(settings.write_deadline_seconds * 1000)
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
            listener.bind(resolved)
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise ConfigurationError(f"cannot listen on {address[0]}:{address[1]}: {error.strerror}") from error
    return listener


def _shutdown_signals(exit_seconds: float) -> tuple[asyncio.Event, asyncio.Event]:
    """Returns the events that the first SIGTERM or SIGINT and the second one set. A third one ends the process at once.

    Args:
        exit_seconds: how long after the first signal the process ends at the latest.
    """
    shutdown, hurry = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def exit_now(number: int) -> None:
        _log.warning("ended before all was finished; what was acknowledged is durable")
        logging.shutdown()
        os._exit(SIGNAL_EXIT_CODE + number)

    def on_signal(number: int) -> None:
        if hurry.is_set():
            exit_now(number)
        (hurry if shutdown.is_set() else shutdown).set()
        timer = threading.Timer(EXIT_SECONDS if hurry.is_set() else exit_seconds, exit_now, (number,))
        timer.daemon = True
        timer.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, number)
    return shutdown, hurry
