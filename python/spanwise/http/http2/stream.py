"""One request of an HTTP/2 connection: the `receive` and `send` of ASGI."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import Message, Scope

Headers = list[tuple[bytes, bytes]]


class Transmission(Protocol):
    """The part of a connection that a stream uses."""

    def acknowledge(self, stream_id: int, size: int) -> None:
        """Lets the client send the same number of bytes again."""

    def expect_body(self, stream_id: int, *, is_public: bool) -> None:
        """Lets the client send the whole body of an authorized request. Public routes keep the small window."""

    def send_headers(self, stream_id: int, headers: Headers, *, is_last: bool) -> None:
        """Sends headers, or trailers."""

    async def send_data(self, stream_id: int, data: bytes, *, is_last: bool) -> None:
        """Sends data as the client takes it."""


class Stream:
    """One request and its response.

    Attributes:
        id: its number in the connection.
        scope: the ASGI scope of the request.
        is_received: True if the whole request has arrived.
        is_sent: True if the whole response was sent.
        is_closed: True if the client reset it or disconnected.
        held: the number of received bytes that are not acknowledged yet.
    """

    def __init__(self, stream_id: int, scope: Scope, connection: Transmission) -> None:
        """Creates a stream whose headers have arrived."""
        self.id = stream_id
        self.scope = scope
        self.is_received = False
        self.is_sent = False
        self.is_closed = False
        self.held = 0
        self._connection = connection
        self._chunks: list[bytes] = []
        self._is_asked = False
        self._is_delivered = False
        self._has_news = asyncio.Event()
        self._started: Message | None = None
        self._has_trailers = False

    def feed(self, data: bytes, size: int) -> None:
        """Adds received data.

        Args:
            data: the data.
            size: the bytes that it took from the flow control windows, padding included.
        """
        self._chunks.append(data)
        self.held += size
        self._has_news.set()

    def feed_end(self) -> None:
        """Marks the request as complete."""
        self.is_received = True
        self._has_news.set()

    def close(self) -> None:
        """Closes the stream after the client reset it or disconnected."""
        self.is_closed = True
        self._chunks.clear()
        self._has_news.set()

    async def receive(self) -> Message:
        """Returns the next ASGI message: the received part of the body, or `http.disconnect`."""
        if not self._is_asked:
            self._is_asked = True
            is_public = self.scope["state"].get("is_public", False)
            self._connection.expect_body(self.id, is_public=is_public)
        while not (self._chunks or self.is_closed or (self.is_received and not self._is_delivered)):
            self._has_news.clear()
            await self._has_news.wait()
        if self.is_closed:
            return {"type": "http.disconnect"}
        body = b"".join(self._chunks)
        self._chunks.clear()
        self.release()
        self._is_delivered = self.is_received
        return {"type": "http.request", "body": body, "more_body": not self.is_received}

    def release(self) -> None:
        """Acknowledges the received bytes, so that the client may send as many again."""
        held, self.held = self.held, 0
        if held:
            self._connection.acknowledge(self.id, held)

    async def send(self, message: Message) -> None:
        """Sends one ASGI message. Messages to a disconnected client are dropped."""
        match message["type"]:
            case "http.response.start":
                self._started = message
            case "http.response.body":
                await self._send_body(message)
            case "http.response.trailers":
                self._send_headers(message["headers"], is_last=not message.get("more_trailers", False))

    async def _send_body(self, message: Message) -> None:
        body: bytes = message.get("body", b"")
        started = self._started
        if started is not None:
            self._has_trailers = started.get("trailers", False)
        is_last = not (message.get("more_body", False) or self._has_trailers)
        if started is not None:
            self._started = None
            headers = [(b":status", str(started["status"]).encode()), *started["headers"]]
            self._send_headers(headers, is_last=is_last and not body)
        if body and not self.is_closed:
            await self._connection.send_data(self.id, body, is_last=is_last)
            self.is_sent = self.is_sent or is_last

    def _send_headers(self, headers: Iterable[tuple[bytes, bytes]], *, is_last: bool) -> None:
        if not self.is_closed:
            self._connection.send_headers(self.id, list(headers), is_last=is_last)
            self.is_sent = self.is_sent or is_last


def scope_of(headers: Headers, client: Any, server: Any) -> Scope:  # noqa: ANN401  # socket addresses have no common type
    """Returns the ASGI scope of a request.

    Args:
        headers: its headers, including the pseudo-headers, whose presence the protocol engine has checked.
        client: the address of its client.
        server: the address that the request was sent to.
    """
    pseudo = {name: value for name, value in headers if name.startswith(b":")}
    path, _, query = pseudo.get(b":path", b"/").partition(b"?")
    authority = pseudo.get(b":authority")
    rest = [(name, value) for name, value in headers if not name.startswith(b":")]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "2",
        "method": pseudo.get(b":method", b"").decode("latin-1"),
        "scheme": pseudo.get(b":scheme", b"http").decode("latin-1"),
        "path": path.decode("latin-1"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": rest if authority is None else [(b"host", authority), *rest],
        "client": client[:2],
        "server": server[:2],
        "extensions": {"http.response.trailers": {}},
        "state": {},
    }
