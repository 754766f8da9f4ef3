"""A load generator that sends prebuilt OTLP requests of exactly 512 spans, each time with new trace ids.

Sending the same spans again would be cheaper for the server, so eight bytes of each trace id are overwritten in offset
before a request is sent, which takes a few microseconds. Nothing else is generated while the time is measured.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.bench.data.documents import SPANS_A_REQUEST, Writer
from spanwise.bench.data.otlp_encoding import CONTENT_TYPE
from spanwise.bench.data.rows import chunks, draw
from spanwise.bench.data.shape import Shape
from spanwise.bench.service.server import Connection, expect_ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from spanwise.bench.data.rows import Rows

_SHAPE = Shape(10_000_000, "real", 11)
"""The data set whose last chunk is sent. It has so many traces that a chunk covers less than an hour."""
_UNAVAILABLE = 503
_UNIQUE_BYTES = 8
_LOOKUP_INTERVAL = 5
"""After every fifth request, one of its traces is looked up as soon as it is acknowledged."""


class Body(NamedTuple):
    """A request body, and the offsets of the trace ids of its spans."""

    content: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class Sent(NamedTuple):
    """What was sent, and in how many seconds. Rejected requests are counted, and sent again after `Retry-After`.

    `asked` counts the traces that were looked up right after they were acknowledged, `found` those that were found.
    """

    spans: int
    sent_bytes: int
    seconds: float
    rejections: int
    asked: int
    found: int
    cpu_seconds: float = 0.0
    """The processor time of all senders together."""


def bodies() -> list[Body]:
    """Returns the requests for one chunk of traces, each with exactly `SPANS_A_REQUEST` spans."""
    last = chunks(_SHAPE) - 1
    rows = _fitted(draw(_SHAPE, last))
    ids = rows.trace_ids.tobytes()
    known = {ids[begin : begin + 16] for begin in range(0, len(ids), 16)}
    requests = Writer(_SHAPE).requests(rows, last)
    return [_body(request.body, known) for request in requests if request.spans == SPANS_A_REQUEST]


def _fitted(rows: Rows) -> Rows:
    """Returns the rows with traces shortened so that requests end at trace boundaries."""
    spans = rows.spans.copy()
    remaining = SPANS_A_REQUEST
    for index, count in enumerate(spans.tolist()):
        spans[index] = min(count, remaining)
        remaining = remaining - int(spans[index]) or SPANS_A_REQUEST
    return rows._replace(spans=spans)


def _body(request: bytes, known: set[bytes]) -> Body:
    found = [match.end() for match in re.finditer(rb"\x0a\x10(?=.{16}\x12\x08)", request, re.DOTALL)]
    offsets = [offset for offset in found if request[offset : offset + 16] in known]
    return Body(np.frombuffer(bytearray(request), np.uint8), np.array(offsets))


class Sender:
    """A connection that sends its share of the bodies round-robin."""

    def __init__(self, port: int, share: list[Body], number: int) -> None:
        """Creates a sender; its number makes its trace ids unique."""
        self._port = port
        self._share = share
        self._number = number

    def send(self, seconds: float, requests_a_second: float | None = None, first: float = 0.0) -> Sent:
        """Sends for `seconds`, as fast as possible or at a fixed rate; looks up new traces only at a fixed rate.

        Args:
            seconds: how long.
            requests_a_second: the rate.
            first: when the first request is due, in intervals between two; it keeps several senders out of step.
        """
        spans = sent_bytes = rejections = asked = found = 0
        with Connection(self._port) as connection:
            begun = time.perf_counter()
            for number, body in self.fresh_bodies():
                due = (number + first) / requests_a_second if requests_a_second else 0.0
                passed = time.perf_counter() - begun
                if max(due, passed) >= seconds:
                    break
                time.sleep(max(0.0, due - passed))
                rejections += _post(connection, body)
                spans += len(body.offsets)
                sent_bytes += len(body.content)
                if requests_a_second and number % _LOOKUP_INTERVAL == 0:
                    asked += 1
                    trace_id = body.content[body.offsets[0] :][:16].tobytes().hex()
                    found += b'"tree"' in connection.get(f"/traces/{trace_id}").body
            return Sent(spans, sent_bytes, time.perf_counter() - begun, rejections, asked, found)

    def fresh_bodies(self) -> Iterator[tuple[int, Body]]:
        """Yields an endless series of bodies with new trace ids, numbered from 0."""
        number = 0
        while True:
            body = self._share[number % len(self._share)]
            own = np.frombuffer(np.array([self._number << 40 | number + 1], ">u8").tobytes(), np.uint8)
            body.content[body.offsets[:, None] + np.arange(_UNIQUE_BYTES)] = own
            yield number, body
            number += 1


def _post(connection: Connection, body: Body) -> int:
    """Sends one body until it is acknowledged; returns how often it was rejected."""
    rejections = 0
    while True:
        reply = connection.post("/v1/traces", body.content.data, CONTENT_TYPE)
        if reply.status != _UNAVAILABLE:
            expect_ok(reply)
            return rejections
        rejections += 1
        time.sleep(reply.retry_after)


def send_all(port: int, connections: int, seconds: float, spans_a_second: float | None = None) -> Sent:
    """Sends over several connections concurrently, at a fixed rate in turn; returns the totals."""
    made = bodies()
    senders = [Sender(port, made[number::connections], number + 1) for number in range(connections)]
    rate = spans_a_second / SPANS_A_REQUEST / connections if spans_a_second else None
    with ThreadPoolExecutor(connections) as threads:
        begun, cpu_begun = time.perf_counter(), time.process_time()
        sending = [threads.submit(each.send, seconds, rate, at / connections) for at, each in enumerate(senders)]
        sent = [each.result() for each in sending]
        passed, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu_begun
    return Sent(
        spans=sum(part.spans for part in sent),
        sent_bytes=sum(part.sent_bytes for part in sent),
        seconds=passed,
        rejections=sum(part.rejections for part in sent),
        asked=sum(part.asked for part in sent),
        found=sum(part.found for part in sent),
        cpu_seconds=cpu_seconds,
    )
