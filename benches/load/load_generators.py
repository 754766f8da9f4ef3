"""Load generators for the stress test. Each function runs in its own process until `end`, and counts the responses."""

from __future__ import annotations

import gzip
import json
import selectors
import socket
import time
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MEBIBYTE = 1024 * 1024
TRACES = 200
"""Traces per ingest request."""
SESSION = "stress"
"""The session id of all traces."""
_PLACEHOLDER = b"\xff" * 8
_PROTOBUF = {"Content-Type": "application/x-protobuf"}
_JSON = {"Content-Type": "application/json"}
_RETRY_SECONDS = 0.2


class LoadResult(NamedTuple):
    """The number of responses by kind, and the numbers of the acknowledged ingest requests."""

    responses: Counter[str]
    acknowledged: list[int]


def numbered_request(number: int) -> bytes:
    """Returns an ingest request with `TRACES` traces whose ids are unique to `number`."""
    return _TEMPLATE.replace(_PLACEHOLDER, number.to_bytes(8))


def trace_id(number: int, index: int) -> str:
    """Returns the id of a trace in a numbered request."""
    return (number.to_bytes(8) + index.to_bytes(8)).hex()


def _template(traces: int, spans: int, text: int) -> bytes:
    """Returns an ingest request whose trace ids start with a placeholder."""
    now = time.time_ns()
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for index in range(traces):
        for number in range(1, spans + 1):
            span = scope.spans.add(
                trace_id=_PLACEHOLDER + index.to_bytes(8),
                span_id=number.to_bytes(8),
                parent_span_id=b"" if number == 1 else (1).to_bytes(8),
                name=f"step {number}",
                start_time_unix_nano=now + number,
                end_time_unix_nano=now + number + 1_000_000,
            )
            for key, value in (("session.id", SESSION), ("input.value", "question " * (text // 9))):
                span.attributes.add(key=key).value.string_value = value
    return request.SerializeToString()


_TEMPLATE = _template(TRACES, 4, 500)


def post(connection: HTTPConnection, path: str, body: bytes, headers: dict[str, str]) -> str:
    """Sends a request and reads the response. Returns its status, or the name of the connection error."""
    try:
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        response.read()
    except (OSError, HTTPException) as error:
        connection.close()
        time.sleep(_RETRY_SECONDS)
        return type(error).__name__
    if response.status in {429, 503}:
        assert response.headers["Retry-After"] or response.status == 429
        time.sleep(_RETRY_SECONDS)
    return str(response.status)


def _run_concurrently(count: int, work: Callable[[int], LoadResult]) -> LoadResult:
    responses: Counter[str] = Counter()
    acknowledged: list[int] = []
    with ThreadPoolExecutor(count) as pool:
        for result in pool.map(work, range(count)):
            responses += result.responses
            acknowledged += result.acknowledged
    return LoadResult(responses, acknowledged)


def write(port: int, end: float, count: int) -> LoadResult:
    """Sends ingest requests as fast as they are acknowledged, over `count` connections."""

    def work(writer: int) -> LoadResult:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        responses: Counter[str] = Counter()
        acknowledged = []
        number = (writer + 1) << 32
        while time.monotonic() < end:
            status = post(connection, "/v1/traces", numbered_request(number), _PROTOBUF)
            responses[f"write {status}"] += 1
            if status == "200":
                acknowledged.append(number)
            number += 1
        return LoadResult(responses, acknowledged)

    return _run_concurrently(count, work)


def search(port: int, end: float, count: int) -> LoadResult:
    """Searches for large pages with various filters, over `count` connections."""
    filters: list[object] = [
        None,
        {"op": "EQ", "key": "session_id", "value": SESSION},
        {"op": "CONTAINS", "key": "name", "value": "tep"},
        {"op": "EQ", "key": "status", "value": "ERROR"},
        {"op": "NOT", "condition": {"op": "CONTAINS", "key": "name", "value": "agent"}},
    ]

    def work(first: int) -> LoadResult:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        responses: Counter[str] = Counter()
        request_number = first
        while time.monotonic() < end:
            body = {"filter": filters[request_number % len(filters)], "limit": 100, "page": 1 + request_number % 7}
            if request_number % 11 == 0:
                body["group_by"] = "session"
            responses[f"search {post(connection, '/traces/search', json.dumps(body).encode(), _JSON)}"] += 1
            request_number += 1
        return LoadResult(responses, [])

    return _run_concurrently(count, work)


def bomb(port: int, end: float, count: int, caller: Mapping[str, str] = MappingProxyType({})) -> LoadResult:
    """Sends decompression bombs and oversized requests, over `count` connections, with the headers of a caller."""
    large = _template(20_000, 2, 1500)
    packed = gzip.compress(large[: 79 * MEBIBYTE], 1)
    zeros = zlib.compressobj(9, zlib.DEFLATED, 31)
    bombs = [
        ("/v1/traces", zeros.compress(bytes(512 * MEBIBYTE)) + zeros.flush(), _PROTOBUF | {"Content-Encoding": "gzip"}),
        ("/v1/traces", packed, _PROTOBUF | {"Content-Encoding": "gzip"}),
        ("/v1/traces", large[: 19 * MEBIBYTE], _PROTOBUF),
        ("/v1/traces", b'{"resourceSpans":' + b"[" * (19 * MEBIBYTE), _JSON),
        ("/v1/traces", b'{"resourceSpans":[{"scopeSpans":[{"spans":[' + b"{}," * (6 * MEBIBYTE) + b"{}]}]}]}", _JSON),
        ("/traces/search", b'{"filter":' + b'{"op":"NOT","condition":' * 40_000, _JSON),
        ("/traces/search", _wide_filter(), _JSON),
        ("/workflows/soon/runs", b"message=" + b"a" * (9 * MEBIBYTE), _FORM),
        ("/workflows/soon/runs", b"a=b&" * (2 * MEBIBYTE), _FORM),
    ]

    def work(first: int) -> LoadResult:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        responses: Counter[str] = Counter()
        request_number = first
        while time.monotonic() < end:
            kind = request_number % len(bombs)
            path, body, headers = bombs[kind]
            responses[f"bomb {kind} {post(connection, path, body, headers | caller)}"] += 1
            request_number += 1
        return LoadResult(responses, [])

    return _run_concurrently(count, work)


_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def _wide_filter() -> bytes:
    condition = {"op": "CONTAINS", "key": "name", "value": "x" * 900}
    return json.dumps({"filter": {"op": "OR", "conditions": [condition] * 900}, "limit": 100}).encode()


def stream(port: int, end: float, count: int) -> LoadResult:
    """Starts runs with 1 MiB of events and reads them slowly, over `count` connections; each is closed after 20 s."""
    form = b"message=1&session_id=stress"
    head = b"POST /workflows/long-winded/runs HTTP/1.1\r\nHost: localhost\r\n"
    head += b"Content-Type: application/x-www-form-urlencoded\r\n"
    request_bytes = head + b"Content-Length: %d\r\n\r\n%b" % (len(form), form)
    responses: Counter[str] = Counter()
    waiting = selectors.DefaultSelector()

    def begin() -> None:
        try:
            reader = socket.create_connection(("127.0.0.1", port), timeout=30)
            reader.sendall(request_bytes)
        except OSError as error:
            responses[f"stream {type(error).__name__}"] += 1
            time.sleep(_RETRY_SECONDS)
            return
        reader.settimeout(0)
        waiting.register(reader, selectors.EVENT_READ, [time.monotonic() + 20, b""])

    while time.monotonic() < end:
        if len(waiting.get_map()) < count:
            begin()
            continue
        time.sleep(0.1)
        for key, _ in waiting.select(0.1):
            reader: socket.socket = key.fileobj  # type: ignore[assignment]  # the registered socket
            first = _read(reader, 8192)
            key.data[1] = key.data[1] or first
            if not first or time.monotonic() > key.data[0]:
                responses[f"stream {key.data[1][9:12].decode() or 'closed'}"] += 1
                waiting.unregister(reader)
                reader.close()
    for key in list(waiting.get_map().values()):
        key.fileobj.close()  # type: ignore[union-attr]  # likewise
    return LoadResult(responses, [])


def _read(reader: socket.socket, limit: int) -> bytes:
    try:
        return reader.recv(limit)
    except OSError:
        return b""
