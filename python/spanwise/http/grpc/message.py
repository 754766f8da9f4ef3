"""The framing of a unary message: one byte for the compression flag, then the length.

Source: gRPC, "gRPC over HTTP2", `Length-Prefixed-Message`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from spanwise.errors import DecodeError, PayloadTooLargeError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Message, Receive, Scope

_PREFIX = struct.Struct(">BI")
_IDENTITY = "identity"


def framed(message: bytes) -> bytes:
    """Returns an uncompressed message in its frame."""
    return _PREFIX.pack(0, len(message)) + message


def encoding_of(request: Request) -> str:
    """Returns the compression of a request's message. Read the body first."""
    is_compressed: bool = request.state.is_message_compressed
    return request.headers.get("grpc-encoding", _IDENTITY) if is_compressed else _IDENTITY


class UnaryMessage:
    """Receives the body of a unary call and passes on the message without its frame, as it arrives."""

    def __init__(self, scope: Scope, receive: Receive, max_bytes: int) -> None:
        """Wraps `receive` of a request.

        Args:
            scope: the scope of the request. Its state receives the compression of the message.
            receive: receives the frame.
            max_bytes: the size limit of the message, as sent.
        """
        self._state = scope["state"]
        self._receive = receive
        self._max_bytes = max_bytes
        self._begun = b""
        self._left: int | None = None
        self._is_rejected = False

    async def receive(self) -> Message:
        """Returns the next ASGI message, with the part of the message that has arrived.

        Raises:
            DecodeError: the body is not exactly one message.
            PayloadTooLargeError: the announced size of the message is over the limit.
        """
        if self._is_rejected:
            return {"type": "http.disconnect"}
        received = await self._receive()
        if received["type"] != "http.request":
            return received
        data = self._data(received["body"])
        if not received["more_body"] and self._left != 0:
            raise DecodeError("expected one message, and it is not whole")
        return {**received, "body": data}

    def _data(self, body: bytes) -> bytes:
        if self._left is None:
            self._begun += body
            if len(self._begun) < _PREFIX.size:
                return b""
            flag, self._left = _PREFIX.unpack_from(self._begun)
            self._expect_valid(flag, self._left)
            body, self._begun = self._begun[_PREFIX.size :], b""
        self._left -= len(body)
        if self._left < 0:
            raise DecodeError("expected one message, got more")
        return body

    def _expect_valid(self, flag: int, length: int) -> None:
        if flag > 1:
            raise DecodeError(f"expected a message, which begins with 0 or 1, got {flag}")
        if length > self._max_bytes:
            self._is_rejected = True
            raise PayloadTooLargeError(f"the message is larger than {self._max_bytes} bytes")
        self._state["is_message_compressed"] = bool(flag)
