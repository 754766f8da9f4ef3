"""Listens for HTTP/2 connections, over TLS or with prior knowledge, and shuts down gracefully."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from spanwise.http.http2.limits import BACKLOG

if TYPE_CHECKING:
    import socket
    import ssl
    from typing import Self

    from starlette.types import ASGIApp

    from spanwise.http.http2.connection import Connection
    from spanwise.http.http2.limits import ConnectionLimits
    from spanwise.settings import Settings


class Http2Server:
    """A server on one listening socket."""

    def __init__(self, server: asyncio.Server, limits: ConnectionLimits) -> None:
        """Wraps a server that accepts connections; see `start`."""
        self._server = server
        self._limits = limits

    @classmethod
    async def start(
        cls,
        application: ASGIApp,
        settings: Settings,
        listener: socket.socket,
        limits: ConnectionLimits,
        certificate: ssl.SSLContext | None,
    ) -> Self:
        """Starts to accept connections.

        Args:
            application: the ASGI application, which may send trailers.
            settings: the deadlines.
            listener: a bound socket that listens.
            limits: counts the connections.
            certificate: the TLS context with the server's certificate; None for connections without TLS.
        """

        def accept() -> Connection:
            from spanwise.http.http2.connection import Connection  # noqa: PLC0415  # imports h2, which many services never need

            return Connection(application, settings, limits)

        server = await asyncio.get_running_loop().create_server(
            accept,
            sock=listener,
            backlog=BACKLOG,
            ssl=certificate,
            ssl_handshake_timeout=settings.header_deadline_seconds if certificate else None,
        )
        return cls(server, limits)

    async def drain(self) -> None:
        """Stops accepting connections and requests, and waits for the responses in progress."""
        self._server.close()
        for connection in self._limits.open:
            connection.drain()
        await self._limits.wait_until_none()

    def close(self) -> None:
        """Closes the connections that are still open."""
        self._server.close()
        for connection in self._limits.open:
            connection.end("the service is shutting down")
