"""One process, one event loop, one Granian worker inside it, and an orderly end.

Why the server is embedded: `docs/decisions/2026-11-20-one-process.md`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server

from spanwise.errors import ConfigurationError, SpanwiseError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from spanwise.http.application import Application

CONNECTIONS = 1024
HEADER_BYTES = 64 * 1024
HEADER_DEADLINE_MILLISECONDS = 10_000
DRAIN_SECONDS = 8.0
LAST_ANSWERS_SECONDS = 0.5
END_SECONDS = 9.5
"""The process is gone this long after the signal, whatever still runs. What was acknowledged is durable."""

_log = logging.getLogger(__name__)


async def serve(
    application: Application,
    address: tuple[str, int],
    open_service: Callable[[], Awaitable[None]],
    drain_service: Callable[[], Awaitable[None]],
    close_service: Callable[[], Awaitable[None]],
) -> None:
    """Serves until SIGTERM or SIGINT: stops accepting, finishes what is under way, closes the service.

    The port is open from the start; until the service is open its routes say so with 503.

    Args:
        application: the ASGI application, without its lifespan.
        address: host and port to listen on.
        open_service: what to do beside serving; its failure ends everything.
        drain_service: what to do as soon as it is told to end: WebSockets, which the server would cut off, are closed.
        close_service: what to do after the last answer.

    Raises:
        ConfigurationError: something listens on the address already, or it is not ours.
        SpanwiseError: the service could not be opened, or the server ended without being told to.
    """
    expect_free(address)
    server = _server(application, address)
    told_to_end = _end_signal()
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
        await asyncio.wait([serving], timeout=max(0.0, DRAIN_SECONDS - (time.monotonic() - told)))
        await close_service()
        await asyncio.wait([serving], timeout=LAST_ANSWERS_SECONDS)
        ending.cancel()
    _log.info("stopped")


def _server(application: Application, address: tuple[str, int]) -> Server:
    return Server(
        application,
        address=address[0],
        port=address[1],
        interface=Interfaces.ASGINL,
        http=HTTPModes.http1,
        websockets=True,
        backlog=CONNECTIONS,
        backpressure=CONNECTIONS,
        http1_settings=HTTP1Settings(header_read_timeout=HEADER_DEADLINE_MILLISECONDS, max_buffer_size=HEADER_BYTES),
        log_level=LogLevels.error,
    )


def _stop(server: Server) -> None:
    server.stop()  # type: ignore[no-untyped-call]  # Granian has no types here


def expect_free(address: tuple[str, int]) -> None:
    """Refuses an address that is in use: the server shares its port with whoever else would."""
    try:
        family, kind, protocol, _, resolved = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(resolved)
    except OSError as error:
        raise ConfigurationError(f"cannot listen on {address[0]}:{address[1]}: {error.strerror}") from error


def _end_signal() -> asyncio.Event:
    """Returns what is set by the first SIGTERM or SIGINT. A second one ends the process at once."""

    def end_now() -> None:
        _log.warning("ended before all was finished; what was acknowledged is durable")
        logging.shutdown()
        os._exit(1)

    def end() -> None:
        told_to_end.set()
        last = threading.Timer(END_SECONDS, end_now)
        last.daemon = True
        last.start()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end_now)

    told_to_end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    return told_to_end
