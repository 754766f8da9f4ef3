"""Lets the HTTP server do the handshake of a WebSocket, then takes over its connection.

Only the embedded server is wrapped this way. In a program with another server, that server reads the frames and applies
its own limits.
"""

from __future__ import annotations

import logging
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from spanwise.http.websocket.wire import Wire

_EXTENSION = "spanwise.wire"
_DESCRIPTORS = "/dev/fd"

_log = logging.getLogger(__name__)


class Upgrade:
    """Serves an application whose WebSockets communicate through a `Wire`."""

    def __init__(self, app: ASGIApp) -> None:
        """Wraps `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return
        from spanwise.http.websocket.wire import Wire  # noqa: PLC0415  # imports websockets, which many services never need

        wire = Wire()
        is_accepted = False
        scope["extensions"] = {**scope.get("extensions", {}), _EXTENSION: wire}

        async def receive_from_wire() -> Message:
            return await (wire.receive() if is_accepted else receive())

        async def send_to_wire(message: Message) -> None:
            nonlocal is_accepted
            match message["type"]:
                case "websocket.accept":
                    connection = duplicate(scope["client"], scope["server"])
                    await send(message)
                    await wire.start(connection)
                    is_accepted = True
                case "websocket.send":
                    await wire.send(message)
                case "websocket.close" if is_accepted:
                    wire.close(message.get("code", 1000), message.get("reason") or "")
                case _:
                    await _send_rejection(send, message)

        try:
            await self._app(scope, receive_from_wire, send_to_wire)
        finally:
            await wire.finish()


async def _send_rejection(send: Send, message: Message) -> None:
    """Sends a part of the response to a rejected handshake.

    The server raises `RuntimeError` if the client has disconnected, but ASGI requires silence in that case.
    """
    try:
        await send(message)
    except RuntimeError as error:
        _log.info("a client left before its socket was rejected: %s", error)


def wire_of(scope: Scope) -> Wire | None:
    """Returns the `Wire` of a WebSocket; None if another server reads the frames."""
    wire: Wire | None = scope.get("extensions", {}).get(_EXTENSION)
    return wire


def duplicate(client: tuple[str, int | str], server: tuple[str, int | str]) -> socket.socket:
    """Returns a duplicate of this process's open TCP connection between two addresses.

    Raises:
        ConnectionError: the connection is closed: the client has disconnected.
    """
    ends = (_end(client), _end(server))
    for name in os.listdir(_DESCRIPTORS):  # noqa: PTH208  # names are numbers
        number = int(name)
        if _ends_of(number) == ends:
            with suppress(OSError):
                found = socket.socket(fileno=os.dup(number))
                # Another connection may have reused the descriptor in the meantime.
                if _ends_of(found.fileno()) == ends:
                    return found
                found.close()
    raise ConnectionError("the connection is closed")


def _ends_of(number: int) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """Returns the addresses of both ends of a connection, the peer first; None if it is not a TCP connection."""
    try:
        borrowed = socket.socket(fileno=number)
    except OSError:
        return None
    try:
        if borrowed.family not in (socket.AF_INET, socket.AF_INET6):
            return None
        return _end(borrowed.getpeername()), _end(borrowed.getsockname())
    except OSError:
        return None
    finally:
        borrowed.detach()


def _end(address: tuple[str, int | str]) -> tuple[str, int]:
    """Returns an address without the zone that some systems append. The HTTP server passes ports as text."""
    return address[0].partition("%")[0], int(address[1])
