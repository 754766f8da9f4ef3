"""Runs the servers of the service in its own process and event loop, and shuts them down gracefully.

Granian serves HTTP, and `http/http2` serves gRPC.

`docs/decisions/2026-11-20-http-server.md` explains why the server is embedded and why the service opens the listening
socket.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from granian._granian import SocketHolder
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server

from spanwise.errors import SpanwiseError
from spanwise.http.http2.limits import BACKLOG, ConnectionLimits
from spanwise.http.http2.server import Http2Server
from spanwise.http.listeners import (
    allowed_connections,
    allowed_otlp_connections,
    certificate_of,
    open_listeners,
)
from spanwise.http.shutdown_signals import Shutdown, ShutdownSignals
from spanwise.http.websocket.upgrade import Upgrade
from spanwise.ui import PATH

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from spanwise.auth.processor_budget import ProcessorBudget
    from spanwise.http.application import Application
    from spanwise.http.listeners import Listeners
    from spanwise.settings import Settings

MAX_HEADER_BYTES = 64 * 1024
"""The size limit of a request head. A head of up to half this size always passes. The server checks the limit before
each read, and a read may double the buffer, so a larger head passes if it arrives at once."""
LAST_RESPONSES_SECONDS = 0.5

_log = logging.getLogger(__name__)


class Addresses(NamedTuple):
    """The URLs on which a service listens. None means that the port is off."""

    main: str
    otlp_http: str | None
    otlp_grpc: str | None


class Served(Protocol):
    """The part of a service that its servers use."""

    @property
    def settings(self) -> Settings:
        """The settings of the service."""

    @property
    def app(self) -> Application:
        """The ASGI application of the service's own port; the server does not run its lifespan."""

    @property
    def otlp_app(self) -> Application:
        """The ASGI application of the port for OTLP over HTTP."""

    @property
    def grpc_app(self) -> Application:
        """The ASGI application of the port for OTLP over gRPC."""

    @property
    def unknown_callers(self) -> ProcessorBudget:
        """The processor budget of unknown callers. Servers that parse requests are charged to it."""

    async def open(self) -> None:
        """Opens the service. Called while the servers run; they stop if it fails."""

    async def drain(self) -> None:
        """Called at the start of the shutdown, to close WebSockets before the server drops them."""

    async def close(self) -> None:
        """Closes the service. Called after the last request, or at the drain deadline."""


async def serve(
    service: Served,
    announce: Callable[[Addresses], None] | None = None,
    make_shutdown: Callable[[], Shutdown] | None = None,
) -> None:
    """Serves until SIGTERM or SIGINT, then stops accepting, finishes the requests in progress and closes the service.

    A second signal closes the service without waiting for requests and runs. See `docs/settings.md#shutdown`.

    The ports are open from the start; routes respond with 503 until the service is open.

    Args:
        service: the service.
        announce: called once the service listens; by default the addresses are logged.
        make_shutdown: returns a trigger that replaces signals; called once the ports are open.

    Raises:
        ConfigurationError: the address is in use, or listening on it fails.
        SpanwiseError: the service could not be opened, or the server stopped unexpectedly.
    """
    settings = service.settings
    _ = service.app  # a broken application fails before it listens
    certificate = certificate_of(settings)
    listeners = open_listeners(settings)
    # A program that reads the announcement may send a signal at once.
    signals = make_shutdown() if make_shutdown else ShutdownSignals(settings.drain_seconds)
    shutdown, hurry = signals.shutdown, signals.hurry
    (announce or _log_addresses)(_addresses(settings, listeners, has_certificate=certificate is not None))
    _warn_if_exposed(settings, listeners)
    connections = allowed_connections(settings.max_connections)
    servers = _http_servers(service, listeners, connections)
    grpc = await _grpc_server(service, listeners, connections, certificate)
    serving = [asyncio.ensure_future(server.serve()) for server in servers]
    opening = asyncio.ensure_future(service.open())
    ending, hurrying = asyncio.ensure_future(shutdown.wait()), asyncio.ensure_future(hurry.wait())
    try:
        await asyncio.wait([*serving, opening, ending], return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            opening.result()
            _log.info("ready")
            await asyncio.wait([*serving, ending], return_when=asyncio.FIRST_COMPLETED)
        if not shutdown.is_set():
            raise SpanwiseError("the server stopped unexpectedly")
    finally:
        await _end(service, (servers, serving), grpc, hurrying)
        ending.cancel()
        hurrying.cancel()
        signals.ignore()
    _log.info("stopped")


async def _end(
    service: Served,
    running: tuple[list[Server], list[asyncio.Task[Any]]],
    grpc: Http2Server | None,
    hurrying: asyncio.Future[Any],
) -> None:
    """Stops accepting, finishes requests in progress unless hurried, and closes the service and the servers."""
    servers, serving = running
    shutdown_started = time.monotonic()
    draining = [asyncio.ensure_future(service.drain()), *([asyncio.ensure_future(grpc.drain())] if grpc else [])]
    await asyncio.wait([draining[0], hurrying], return_when=asyncio.FIRST_COMPLETED)
    for server in servers:
        _stop(server)
    left = max(0.0, service.settings.drain_seconds - (time.monotonic() - shutdown_started))
    served = asyncio.gather(*serving, *draining[1:], return_exceptions=True)
    ends: list[asyncio.Future[Any]] = [served, hurrying]
    await asyncio.wait(ends, timeout=left, return_when=asyncio.FIRST_COMPLETED)
    await service.close()
    await draining[0]
    await asyncio.wait([served], timeout=LAST_RESPONSES_SECONDS)
    if grpc:
        grpc.close()


def _http_servers(service: Served, listeners: Listeners, connections: int) -> list[Server]:
    settings = service.settings
    servers = [_server(service.app, settings, listeners.main, connections)]
    if listeners.otlp_http is not None:
        otlp_connections = allowed_otlp_connections(connections)
        servers.append(_server(service.otlp_app, settings, listeners.otlp_http, otlp_connections))
    return servers


async def _grpc_server(
    service: Served, listeners: Listeners, connections: int, certificate: ssl.SSLContext | None
) -> Http2Server | None:
    if listeners.otlp_grpc is None:
        return None
    settings = service.settings
    limits = ConnectionLimits(allowed_otlp_connections(connections), service.unknown_callers)
    return await Http2Server.start(service.grpc_app, settings, listeners.otlp_grpc, limits, certificate)


def _addresses(settings: Settings, listeners: Listeners, *, has_certificate: bool) -> Addresses:
    http, grpc = listeners.otlp_http, listeners.otlp_grpc
    return Addresses(
        _address("http", settings, listeners.main),
        _address("http", settings, http) if http else None,
        _address("https" if has_certificate else "http", settings, grpc) if grpc else None,
    )


def _log_addresses(addresses: Addresses) -> None:
    _log.info("listening on %s", addresses.main)
    _log.info("user interface on %s%s", addresses.main, PATH)
    if addresses.otlp_http is not None:
        _log.info("listening for OTLP over HTTP on %s", addresses.otlp_http)
    if addresses.otlp_grpc is not None:
        _log.info("listening for OTLP over gRPC on %s", addresses.otlp_grpc)


def _warn_if_exposed(settings: Settings, listeners: Listeners) -> None:
    host = listeners.main.getsockname()[0]
    if settings.callers == "open" and not ip_address(host.partition("%")[0]).is_loopback:
        _log.warning(
            "it listens on %s without authorization: every client that reaches this machine may read and "
            "delete all traces; use `--authorization` to require tokens or `--host 127.0.0.1` to listen "
            "locally",
            host,
        )


def _address(scheme: str, settings: Settings, listener: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{listener.getsockname()[1]}"


class _BoundServer(Server):
    """Granian on a socket that is already bound."""

    listener: socket.socket

    def _init_shared_socket(self) -> None:
        holder: Any = SocketHolder  # the type stubs lack these arguments
        is_unix = False
        self._shd = holder(self.listener.detach(), is_unix, self.backlog)


def without_cancellations(application: Application) -> Application:
    """Returns the application for the server, without the exceptions of cancelled requests.

    The server logs a traceback for every exception. After a second signal, the remaining requests are cancelled with
    the event loop, and their tracebacks would be noise.
    """

    async def serve_one(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(asyncio.CancelledError):
            await application(scope, receive, send)

    return serve_one


def _server(application: Application, settings: Settings, listener: socket.socket, connections: int) -> Server:
    milliseconds = round(settings.header_deadline_seconds * 1000)
    server = _BoundServer(
        without_cancellations(Upgrade(application)),
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


def _stop(server: Server) -> None:
    server.stop()  # type: ignore[no-untyped-call]  # Granian has no types here
