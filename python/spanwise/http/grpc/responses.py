"""gRPC responses: a message with the status in its trailers, or only the status of an error.

Exporters retry after UNAVAILABLE and DEADLINE_EXCEEDED. They retry after RESOURCE_EXHAUSTED only with a `RetryInfo`. A
message over the size limit gets no `RetryInfo` because a retry would fail again.

Source: gRPC, "Status codes and their use"; OTLP 1.x, "OTLP/gRPC Response"; google.rpc, `status.proto`.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.responses import Response

from spanwise.http.grpc.message import framed
from spanwise.http.responses.errors import RETRY_AFTER_SECONDS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from spanwise.errors import SpanwiseError

CONTENT_TYPE = "application/grpc"
ENCODINGS = "identity,deflate,gzip"
OK = 0
UNKNOWN = 2
UNAVAILABLE = 14
CODES = {
    400: 3,  # INVALID_ARGUMENT
    401: 16,  # UNAUTHENTICATED
    403: 7,  # PERMISSION_DENIED
    404: 5,  # NOT_FOUND
    405: 12,  # UNIMPLEMENTED
    408: 4,  # DEADLINE_EXCEEDED
    409: 10,  # ABORTED
    413: 8,  # RESOURCE_EXHAUSTED
    415: 12,  # UNIMPLEMENTED, as for any unsupported compression
    422: 3,
    500: 13,  # INTERNAL
    503: UNAVAILABLE,
}
"""The gRPC code for the HTTP status of an error."""
MAX_MESSAGE_CHARACTERS = 1024
_RETRY_INFO = b"type.googleapis.com/google.rpc.RetryInfo"
_HEADERS = [(b"content-type", CONTENT_TYPE.encode()), (b"grpc-accept-encoding", ENCODINGS.encode())]


class GrpcResponse(Response):
    """The response of a unary call.

    Attributes:
        status_code: the HTTP status that the metrics count for this outcome. The status sent over HTTP/2 is always 200.
    """

    def __init__(self, message: bytes) -> None:
        """Creates the response to a call that succeeded."""
        super().__init__()
        self._message = message

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # required by ASGI
        """Sends the message, then the status."""
        await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS], "trailers": True})
        await send({"type": "http.response.body", "body": framed(self._message)})
        await send({"type": "http.response.trailers", "headers": [(b"grpc-status", str(OK).encode())]})


class GrpcErrorResponse(Response):
    """The response to a failed call: only the status."""

    def __init__(self, error: SpanwiseError) -> None:
        """Creates the response for an error."""
        super().__init__(status_code=error.status)
        code, text = CODES.get(error.status, UNKNOWN), str(error)[:MAX_MESSAGE_CHARACTERS]
        self._status = [
            (b"grpc-status", str(code).encode()),
            (b"grpc-message", quote(text, safe="!\"#$&'()*+,/:;<=>?@[\\]^`{|}").encode()),
        ]
        if code == UNAVAILABLE:
            details = b64encode(_status_with_retry(code, text, RETRY_AFTER_SECONDS)).rstrip(b"=")
            self._status.append((b"grpc-status-details-bin", details))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # required by ASGI
        """Sends the status."""
        await send({"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *self._status]})
        await send({"type": "http.response.body"})


def grpc_error_response(_request: Request, error: SpanwiseError) -> Response:
    """Returns `error` as the status of a call."""
    return GrpcErrorResponse(error)


def _status_with_retry(code: int, text: str, seconds: int) -> bytes:
    """Returns a `google.rpc.Status` with a `RetryInfo`, in protobuf."""
    duration = _field(1, seconds)
    retry_info = _field(1, duration)
    detail = _field(1, _RETRY_INFO) + _field(2, retry_info)
    return _field(1, code) + _field(2, text.encode()) + _field(3, detail)


def _field(number: int, value: int | bytes) -> bytes:
    """Returns one field of a protobuf message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:  # noqa: PLR2004  # seven bits a byte
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
