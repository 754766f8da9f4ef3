"""One process, one event loop, one Granian worker inside it, and an orderly end.

Why the server is embedded: `docs/decisions/2026-11-20-one-process.md`. Why it listens at a socket of ours:
`docs/decisions/2026-11-21-connections.md`.
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

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spanwise.http.application import Application
    from spanwise.settings import Settings

HEADER_BYTES = 64 * 1024
LAST_ANSWERS_SECONDS = 0.5
END_SECONDS = 1.5
"""The process is gone this long after the time to drain, whatever still runs. What was acknowledged is durable."""
BACKLOG = 4096
"""Connections that wait to be let in. What is beyond them must try again, which takes its system seconds."""
OTHER_FILES = 256
"""Open files that are no connections: of the stores, of the database, of the program."""

_log = logging.getLogger(__name__)


async def serve(
    application: Application,
    settings: Settings,
    open_service: Callable[[], Awaitable[None]],
    drain_service: Callable[[], Awaitable[None]],
    close_service: Callable[[], Awaitable[None]],
) -> None:
    """Serves until SIGTERM or SIGINT: stops accepting, finishes what is under way, closes the service.

    The port is open from the start; until the service is open its routes say so with 503.

    Args:
        application: the ASGI application, without its lifespan.
        settings: where to listen, for how many, and how long to wait for them.
        open_service: what to do beside serving; its failure ends everything.
        drain_service: what to do as soon as it is told to end: WebSockets, which the server would cut off, are closed.
        close_service: what to do after the last answer.

    Raises:
        ConfigurationError: something listens on the address already, or it is not ours.
        SpanwiseError: the service could not be opened, or the server ended without being told to.
    """
    address = (settings.host, settings.port)
    server = _server(application, settings, _listen(address, settings))
    told_to_end = _end_signal(settings.drain_seconds + END_SECONDS)
    serving = asyncio.ensure_future(server.serve())
    opening = asyncio.ensure_future(open_service())
    ending = asyncio.ensure_future(told_to_end.wait())
    _log.info("listening on http://%s:%d", *address)
    try:
        await asyncio.wait([serving, opening, ending], return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            opening.result()
            _log.info("ready")
            await asyncio.wait([serving, ending], return_when=asyncio.FIRST_COMPLETED)
        if not told_to_end.is_set():
            raise SpanwiseError("the server ended by itself")
    finally:
        told = time.monotonic()
        await drain_service()
        _stop(server)
        await asyncio.wait([serving], timeout=max(0.0, settings.drain_seconds - (time.monotonic() - told)))
        await close_service()
        await asyncio.wait([serving], timeout=LAST_ANSWERS_SECONDS)
        ending.cancel()
    _log.info("stopped")


class _Server(Server):
    """Granian, listening at a socket that is bound already."""

    listener: socket.socket

    def _init_shared_socket(self) -> None:
        holder: Any = SocketHolder  # its types leave out the arguments
        is_unix = False
        self._shd = holder(self.listener.detach(), is_unix, self.backlog)


def _server(application: Application, settings: Settings, listener: socket.socket) -> Server:
    connections = _connections(settings.max_connections)
    milliseconds = round(settings.header_deadline_seconds * 1000)
    server = _Server(
        application,
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=True,
        backlog=BACKLOG,
        backpressure=connections,
        http1_settings=HTTP1Settings(header_read_timeout=milliseconds, max_buffer_size=HEADER_BYTES),
        log_level=LogLevels.error,
    )
    server.listener = listener
    return server


def _connections(wanted: int) -> int:
    """Returns how many connections there may be: as many as wanted, unless the process may not open as many files."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < wanted + OTHER_FILES:
        _log.warning("at most %d connections at once: the process may open no more than %d files", most // 2, most)
        wanted = most // 2
    if allowed != resource.RLIM_INFINITY and allowed < wanted + OTHER_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted + OTHER_FILES, most) if most > 0 else most, most))
    return wanted


def _stop(server: Server) -> None:
    server.stop()  # type: ignore[no-untyped-call]  # Granian has no types here


def expect_free(settings: Settings) -> None:
    """Refuses an address that cannot be listened on.

    Raises:
        ConfigurationError: something listens on it already, or it is not ours.
    """
    _listen((settings.host, settings.port), settings).close()


def _listen(address: tuple[str, int], settings: Settings) -> socket.socket:
    """Returns the socket that connections come from; they get its options."""
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


def _end_signal(end_seconds: float) -> asyncio.Event:
    """Returns what is set by the first SIGTERM or SIGINT. A second one ends the process at once."""

    def end_now() -> None:
        _log.warning("ended before all was finished; what was acknowledged is durable")
        logging.shutdown()
        os._exit(1)

    def end() -> None:
        told_to_end.set()
        last = threading.Timer(end_seconds, end_now)
        last.daemon = True
        last.start()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end_now)

    told_to_end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    return told_to_end
