"""What besiegers send: each function runs in a process of its own until `end`, and returns what it was answered."""

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
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

if TYPE_CHECKING:
    from collections.abc import Callable

MEBIBYTE = 1024 * 1024
TRACES = 200
"""Traces of one export."""
NAME = "besieged"
"""The session of all traces that are sent."""
_PLACEHOLDER = b"\xff" * 8
_PROTOBUF = {"Content-Type": "application/x-protobuf"}
_JSON = {"Content-Type": "application/json"}
_RETRY_SECONDS = 0.2


class Outcome(NamedTuple):
    """How often each answer was given, and the numbers of the exports that were acknowledged."""

    answers: Counter[str]
    acknowledged: list[int]


def export_numbered(number: int) -> bytes:
    """Returns an export of `TRACES` traces that no other number has."""
    return _TEMPLATE.replace(_PLACEHOLDER, number.to_bytes(8))


def trace_id(number: int, place: int) -> str:
    """Returns the id of one trace of an export."""
    return (number.to_bytes(8) + place.to_bytes(8)).hex()


def _template(traces: int, spans: int, text: int) -> bytes:
    """Returns an export whose trace ids begin with a placeholder."""
    now = time.time_ns()
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for place in range(traces):
        for number in range(1, spans + 1):
            span = scope.spans.add(
                trace_id=_PLACEHOLDER + place.to_bytes(8),
                span_id=number.to_bytes(8),
                parent_span_id=b"" if number == 1 else (1).to_bytes(8),
                name=f"step {number}",
                start_time_unix_nano=now + number,
                end_time_unix_nano=now + number + 1_000_000,
            )
            for key, value in (("session.id", NAME), ("input.value", "question " * (text // 9))):
                span.attributes.add(key=key).value.string_value = value
    return request.SerializeToString()


_TEMPLATE = _template(TRACES, 4, 500)


def ask(connection: HTTPConnection, path: str, body: bytes, headers: dict[str, str]) -> str:
    """Returns the status of an answer, read whole; or how the connection ended."""
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        answer.read()
    except (OSError, HTTPException) as error:
        connection.close()
        time.sleep(_RETRY_SECONDS)
        return type(error).__name__
    if answer.status in {429, 503}:
        assert answer.headers["Retry-After"] or answer.status == 429
        time.sleep(_RETRY_SECONDS)
    return str(answer.status)


def _at_once(count: int, work: Callable[[int], Outcome]) -> Outcome:
    answers: Counter[str] = Counter()
    acknowledged: list[int] = []
    with ThreadPoolExecutor(count) as pool:
        for outcome in pool.map(work, range(count)):
            answers += outcome.answers
            acknowledged += outcome.acknowledged
    return Outcome(answers, acknowledged)


def write(port: int, end: float, count: int) -> Outcome:
    """Sends exports, as fast as they are acknowledged, over `count` connections."""

    def work(writer: int) -> Outcome:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        answers: Counter[str] = Counter()
        acknowledged = []
        number = (writer + 1) << 32
        while time.monotonic() < end:
            status = ask(connection, "/v1/traces", export_numbered(number), _PROTOBUF)
            answers[f"write {status}"] += 1
            if status == "200":
                acknowledged.append(number)
            number += 1
        return Outcome(answers, acknowledged)

    return _at_once(count, work)


def search(port: int, end: float, count: int) -> Outcome:
    """Asks for large pages by filters of all kinds over `count` connections."""
    filters: list[object] = [
        None,
        {"op": "EQ", "key": "session_id", "value": NAME},
        {"op": "CONTAINS", "key": "name", "value": "tep"},
        {"op": "EQ", "key": "status", "value": "ERROR"},
        {"op": "NOT", "condition": {"op": "CONTAINS", "key": "name", "value": "agent"}},
    ]

    def work(searcher: int) -> Outcome:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        answers: Counter[str] = Counter()
        turn = searcher
        while time.monotonic() < end:
            body = {"filter": filters[turn % len(filters)], "limit": 100, "page": 1 + turn % 7}
            if turn % 11 == 0:
                body["group_by"] = "session"
            answers[f"search {ask(connection, '/traces/search', json.dumps(body).encode(), _JSON)}"] += 1
            turn += 1
        return Outcome(answers, [])

    return _at_once(count, work)


def bomb(port: int, end: float, count: int) -> Outcome:
    """Sends what is small as sent and large as read, or large in every way, over `count` connections."""
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

    def work(bomber: int) -> Outcome:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        answers: Counter[str] = Counter()
        turn = bomber
        while time.monotonic() < end:
            kind = turn % len(bombs)
            answers[f"bomb {kind} {ask(connection, *bombs[kind])}"] += 1
            turn += 1
        return Outcome(answers, [])

    return _at_once(count, work)


_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def _wide_filter() -> bytes:
    condition = {"op": "CONTAINS", "key": "name", "value": "x" * 900}
    return json.dumps({"filter": {"op": "OR", "conditions": [condition] * 900}, "limit": 100}).encode()


def stream(port: int, end: float, count: int) -> Outcome:
    """Begins runs of 1 MiB of events and reads them slowly, over `count` connections; each is left after a while."""
    form = b"message=1&session_id=besieged"
    head = (
        b"POST /workflows/long-winded/runs HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    )
    asked = head + b"Content-Length: %d\r\n\r\n%b" % (len(form), form)
    answers: Counter[str] = Counter()
    waiting = selectors.DefaultSelector()

    def begin() -> None:
        try:
            reader = socket.create_connection(("127.0.0.1", port), timeout=30)
            reader.sendall(asked)
        except OSError as error:
            answers[f"stream {type(error).__name__}"] += 1
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
            reader: socket.socket = key.fileobj  # type: ignore[assignment]  # what was registered
            first = _read(reader, 8192)
            key.data[1] = key.data[1] or first
            if not first or time.monotonic() > key.data[0]:
                answers[f"stream {key.data[1][9:12].decode() or 'closed'}"] += 1
                waiting.unregister(reader)
                reader.close()
    for key in list(waiting.get_map().values()):
        key.fileobj.close()  # type: ignore[union-attr]  # likewise
    return Outcome(answers, [])


def _read(reader: socket.socket, most: int) -> bytes:
    try:
        return reader.recv(most)
    except OSError:
        return b""
