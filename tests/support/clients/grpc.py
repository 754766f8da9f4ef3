"""A gRPC client on its own socket, so that tests can also violate the protocol.

It shares no code with the service: the protocol engine is `h2`, and the message frames are written here.
"""

from __future__ import annotations

import gzip
import socket
import struct
import time
from base64 import b64decode
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import unquote

from google.rpc.status_pb2 import Status
from h2.config import H2Configuration
from h2.connection import ConnectionState, H2Connection
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    PingAckReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping

    from h2.events import Event

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
CHECK = "/grpc.health.v1.Health/Check"
TIMEOUT_SECONDS = 30
OK, INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED = 0, 3, 5, 7, 8
UNIMPLEMENTED, UNAVAILABLE, UNAUTHENTICATED = 12, 14, 16


class Reply(NamedTuple):
    """The result of a call.

    Attributes:
        headers: headers and trailers.
        message: the message of the response; None without a message.
        reset: the code with which the stream was reset; None without a reset.
    """

    headers: dict[str, str]
    message: bytes | None
    reset: int | None

    @property
    def code(self) -> int:
        """Returns the status of the call."""
        return int(self.headers["grpc-status"])

    @property
    def text(self) -> str:
        """Returns the message of a failed call."""
        return unquote(self.headers["grpc-message"])

    @property
    def status(self) -> Status:
        """Returns the details of a failed call."""
        text = self.headers["grpc-status-details-bin"]
        return Status.FromString(b64decode(text + "=" * (-len(text) % 4)))


class _Engine(H2Connection):
    """An engine that continues after GOAWAY, which does not affect the calls in progress."""

    def _receive_goaway_frame(self, frame: Any) -> tuple[list[Any], list[Any]]:
        found: tuple[list[Any], list[Any]] = super()._receive_goaway_frame(frame)
        self.state_machine.state = ConnectionState.CLIENT_OPEN
        return found


class GrpcClient:
    """One connection. Use it as a context manager.

    Attributes:
        h2: the protocol engine.
        socket: the connection.
        goaway: the code with which the server ended the connection, if it did.
        is_closed: True if the server closed it.
    """

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        """Connects, with TLS if `context` is given, and sends the preface."""
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_SECONDS)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.h2 = _Engine(H2Configuration(header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.goaway: int | None = None
        self.is_closed = False
        self._replies: dict[int, tuple[dict[str, str], list[bytes], list[int]]] = {}
        self._ended: set[int] = set()
        self._is_settled = True
        self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def flush(self) -> None:
        """Sends the pending data of the protocol engine."""
        self.socket.sendall(self.h2.data_to_send())

    def begin(self, path: str = EXPORT, metadata: Mapping[str, str] | None = None) -> int:
        """Sends the headers of a call and returns its stream."""
        stream_id = self.h2.get_next_available_stream_id()
        headers = {
            ":method": "POST",
            ":scheme": "http",
            ":path": path,
            ":authority": "localhost",
            "content-type": "application/grpc",
            "te": "trailers",
        }
        given = {name.lower(): value for name, value in (metadata or {}).items()}
        self.h2.send_headers(stream_id, list((headers | given).items()))
        self.flush()
        return stream_id

    def send(self, stream_id: int, data: bytes, *, is_last: bool = True) -> None:
        """Sends data as fast as the server allows. Stops early if the server ends the call."""
        while stream_id not in self._ended and not self.is_closed:
            size = min(len(data), self.h2.local_flow_control_window(stream_id), self.h2.max_outbound_frame_size)
            if size or not data:
                self.h2.send_data(stream_id, data[:size], end_stream=is_last and size == len(data))
                self.flush()
                data = data[size:]
                if not data:
                    return
            else:
                self.receive()

    def settle(self) -> None:
        """Waits until the server has handled all data sent so far."""
        self._is_settled = False
        self.h2.ping(b"settled?")
        self.flush()
        while not self._is_settled:
            assert not self.is_closed
            self.receive()

    def receive(self) -> None:
        """Handles the next data of the server, or the end of the connection."""
        try:
            data = self.socket.recv(65536)
        except ConnectionError:
            data = b""
        if not data:
            self.is_closed = True
            return
        for event in self.h2.receive_data(data):
            self._handle(event)
        if not self.goaway:
            self.flush()

    def _handle(self, event: Event) -> None:
        match event:
            case ResponseReceived() | TrailersReceived():
                headers = {str(name): str(value) for name, value in event.headers or ()}
                self._reply(event.stream_id)[0].update(headers)
            case DataReceived():
                self._reply(event.stream_id)[1].append(event.data or b"")
                self.h2.acknowledge_received_data(event.flow_controlled_length or 0, event.stream_id or 0)
            case StreamReset():
                self._reply(event.stream_id)[2].append(int(event.error_code or 0))
                self._ended.add(event.stream_id or 0)
            case StreamEnded():
                self._ended.add(event.stream_id or 0)
            case PingAckReceived():
                self._is_settled = True
            case ConnectionTerminated():
                self.goaway = int(event.error_code or 0)

    def _reply(self, stream_id: int | None) -> tuple[dict[str, str], list[bytes], list[int]]:
        return self._replies.setdefault(stream_id or 0, ({}, [], []))

    def reply(self, stream_id: int) -> Reply:
        """Waits for the end of a call and returns its reply; without `grpc-status` if the connection was closed."""
        while stream_id not in self._ended and not self.is_closed:
            self.receive()
        headers, chunks, resets = self._reply(stream_id)
        data = b"".join(chunks)
        return Reply(headers, data[5:] if data else None, resets[0] if resets else None)

    def wait_until_closed(self) -> None:
        """Waits until the server has closed the connection."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not self.is_closed:
            assert time.monotonic() < deadline
            self.receive()

    def call(
        self,
        message: bytes,
        metadata: Mapping[str, str] | None = None,
        path: str = EXPORT,
        compression: str | None = None,
    ) -> Reply:
        """Makes one call.

        Args:
            message: its message.
            metadata: its metadata.
            path: its service and method.
            compression: `gzip` compresses the message; any other value is only declared.
        """
        given = dict(metadata or {}) | ({"grpc-encoding": compression} if compression else {})
        stream_id = self.begin(path, given)
        sent = gzip.compress(message) if compression == "gzip" else message
        self.send(stream_id, framed(sent, is_compressed=bool(compression)))
        return self.reply(stream_id)


def framed(message: bytes, *, is_compressed: bool = False) -> bytes:
    """Returns a message in its frame."""
    return struct.pack(">BI", is_compressed, len(message)) + message


def export_message(trace_id: str, *span_ids: str, **attributes: str) -> bytes:
    """Returns an OTLP request with one trace in protobuf, whose first span is the parent of the others."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    now = time.time_ns()
    for span_id in span_ids:
        span = scope.spans.add(
            trace_id=bytes.fromhex(trace_id),
            span_id=bytes.fromhex(span_id),
            parent_span_id=b"" if span_id == span_ids[0] else bytes.fromhex(span_ids[0]),
            name=f"span {span_id}",
            start_time_unix_nano=now,
            end_time_unix_nano=now + 1_000_000,
        )
        for key, value in attributes.items():
            span.attributes.add(key=key).value.string_value = value
    found: bytes = request.SerializeToString()
    return found
