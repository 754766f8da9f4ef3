"""Export requests of exactly 512 spans, made beforehand, and sent again and again as traces that are always new.

Sending the same spans twice would cost the server less, so every sending gets trace ids of its own: eight bytes of
each span's id are overwritten in place, which takes the client some microseconds a request. Nothing else is made
while the clock runs.
"""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.bench.documents import SPANS_A_REQUEST, Writer
from spanwise.bench.rows import chunks, draw
from spanwise.bench.serving import Connection, expect_ok
from spanwise.bench.shape import Shape
from spanwise.bench.wire import CONTENT_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from spanwise.bench.rows import Rows

_SHAPE = Shape(10_000_000, "real", 11)
"""Its last chunk is sent: so many traces in all that a chunk is of less than an hour."""
_UNAVAILABLE = 503
_OWN_BYTES = 8
_EVERY = 5
"""Every so many requests one of its traces is asked for as soon as it is acknowledged."""


class Body(NamedTuple):
    """One request: its bytes, and where in them the trace id of each span begins."""

    content: NDArray[np.uint8]
    places: NDArray[np.int64]


class Sent(NamedTuple):
    """What was sent, over how many seconds; refusals were waited for as told, and sent again.

    `asked` counts the traces that were asked for right after they were acknowledged, `found` those that were there.
    """

    spans: int
    sent_bytes: int
    seconds: float
    refusals: int
    asked: int
    found: int
    cpu_seconds: float = 0.0
    """What the senders took of the processor, all of them together."""


def bodies() -> list[Body]:
    """Returns the requests of one chunk of traces, each of exactly `SPANS_A_REQUEST` spans."""
    last = chunks(_SHAPE) - 1
    rows = _fitted(draw(_SHAPE, last))
    ids = rows.trace_ids.tobytes()
    known = {ids[begin : begin + 16] for begin in range(0, len(ids), 16)}
    requests = Writer(_SHAPE).requests(rows, last)
    return [_body(request.body, known) for request in requests if request.spans == SPANS_A_REQUEST]


def _fitted(rows: Rows) -> Rows:
    """Returns the rows with traces cut short where a request of the exact size would end within them."""
    spans = rows.spans.copy()
    room = SPANS_A_REQUEST
    for place, count in enumerate(spans.tolist()):
        spans[place] = min(count, room)
        room = room - int(spans[place]) or SPANS_A_REQUEST
    return rows._replace(spans=spans)


def _body(request: bytes, known: set[bytes]) -> Body:
    found = [match.end() for match in re.finditer(rb"\x0a\x10(?=.{16}\x12\x08)", request, re.DOTALL)]
    places = [place for place in found if request[place : place + 16] in known]
    return Body(np.frombuffer(bytearray(request), np.uint8), np.array(places))


class Sender:
    """One connection that sends its share of the bodies in turn."""

    def __init__(self, port: int, share: list[Body], number: int) -> None:
        """Prepares the sender of that number; every number sends traces of its own."""
        self._port = port
        self._share = share
        self._number = number

    def send(self, seconds: float, requests_a_second: float | None = None) -> Sent:
        """Sends for so long, as fast as it is answered or at a pace; asks for new traces only at a pace."""
        spans = sent_bytes = refusals = asked = found = 0
        with Connection(self._port) as connection:
            begun = time.perf_counter()
            for turn, body in self.renewed():
                due = turn / requests_a_second if requests_a_second else 0.0
                passed = time.perf_counter() - begun
                if max(due, passed) >= seconds:
                    break
                time.sleep(max(0.0, due - passed))
                refusals += _post(connection, body)
                spans += len(body.places)
                sent_bytes += len(body.content)
                if requests_a_second and turn % _EVERY == 0:
                    asked += 1
                    trace_id = body.content[body.places[0] :][:16].tobytes().hex()
                    found += b'"tree"' in connection.get(f"/traces/{trace_id}").body
            return Sent(spans, sent_bytes, time.perf_counter() - begun, refusals, asked, found)

    def renewed(self) -> Iterator[tuple[int, Body]]:
        """Yields bodies for ever, each with trace ids that were not sent before, and its number."""
        turn = 0
        while True:
            body = self._share[turn % len(self._share)]
            own = np.frombuffer(np.array([self._number << 40 | turn + 1], ">u8").tobytes(), np.uint8)
            body.content[body.places[:, None] + np.arange(_OWN_BYTES)] = own
            yield turn, body
            turn += 1


def _post(connection: Connection, body: Body) -> int:
    """Sends one body until it is acknowledged; returns how often it was refused."""
    refusals = 0
    while True:
        reply = connection.post("/v1/traces", body.content.data, CONTENT_TYPE)
        if reply.status != _UNAVAILABLE:
            expect_ok(reply)
            return refusals
        refusals += 1
        time.sleep(reply.retry_after)


def send_all(port: int, connections: int, seconds: float, spans_a_second: float | None = None) -> Sent:
    """Sends over so many connections at once; returns what they sent together."""
    made = bodies()
    senders = [Sender(port, made[number::connections], number + 1) for number in range(connections)]
    pace = spans_a_second / SPANS_A_REQUEST / connections if spans_a_second else None
    with ThreadPoolExecutor(connections) as threads:
        begun, cpu_begun = time.perf_counter(), time.process_time()
        sent = list(threads.map(lambda sender: sender.send(seconds, pace), senders))
        passed, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu_begun
    return Sent(
        spans=sum(part.spans for part in sent),
        sent_bytes=sum(part.sent_bytes for part in sent),
        seconds=passed,
        refusals=sum(part.refusals for part in sent),
        asked=sum(part.asked for part in sent),
        found=sum(part.found for part in sent),
        cpu_seconds=cpu_seconds,
    )
