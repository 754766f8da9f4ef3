"""Measures the cost of tails: 64 readers of a service that ingests 1,000 traces per second, and their lag.

Run it by hand: `python benches/service/tail.py`. It prints the latency of ingest requests without and with readers. It
also prints the time from the acknowledgement of a trace to its event, and the rows that slow readers lost.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import resource
import secrets
import selectors
import socket
import sys
import tempfile
import time
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.services.process import RunningService

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

READERS = int(os.environ.get("BENCH_READERS", "64"))
"""Each has its own address, because one caller may not have them all."""
SECONDS = float(os.environ.get("BENCH_SECONDS", "8"))
TRACES_PER_SECOND = int(os.environ.get("BENCH_TRACES", "1000"))
TRACES_PER_REQUEST = 50
SPANS = 4
TAIL = b"POST /traces/tail HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
TRACE_ID = re.compile(rb'data: \{"trace_id":"([0-9a-f]{32})"')
DROPPED = re.compile(rb'event: dropped\ndata: \{"count":(\d+)\}')


def span(trace_id: str, number: int, at: int) -> dict[str, object]:
    """Returns a span of about 600 bytes."""
    attributes = {
        "openinference.span.kind": "AGENT" if number == 1 else "LLM",
        "agno.agent.id": f"agent-{number}",
        "session.id": f"session-{at % 1000}",
        "input.value": "What is the state of my order? " * 8,
        "output.value": "It is on its way. " * 8,
    }
    return {
        "traceId": trace_id,
        "spanId": f"{number:016x}",
        "parentSpanId": "" if number == 1 else f"{1:016x}",
        "name": f"step {number}",
        "startTimeUnixNano": str(at),
        "endTimeUnixNano": str(at + 1_000_000),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }


def request() -> tuple[list[str], bytes]:
    """Returns the trace ids of a request, and its body."""
    trace_ids = [secrets.token_hex(16) for _ in range(TRACES_PER_REQUEST)]
    now = time.time_ns()
    spans = [span(trace_id, number, now) for trace_id in trace_ids for number in range(1, SPANS + 1)]
    return trace_ids, json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def read(port: int, readers: int, results: Connection) -> None:
    """Reads many tails until a message arrives.

    Then sends the arrival time of each trace, and the number of dropped rows.
    """
    selector = selectors.DefaultSelector()
    for number in range(readers):
        connection = socket.create_connection(("127.0.0.1", port), source_address=(f"127.0.1.{number + 1}", 0))
        connection.sendall(TAIL)
        assert connection.recv(12) == b"HTTP/1.1 200", "a tail was rejected"
        connection.settimeout(0)
        selector.register(connection, selectors.EVENT_READ, number)
    arrived: list[tuple[float, list[bytes]]] = []
    text: dict[int, bytes] = dict.fromkeys(range(readers), b"")
    dropped = 0
    results.send(None)
    while not results.poll():
        for key, _ in selector.select(0.05):
            piece = text[key.data] + key.fileobj.recv(1 << 20)  # type: ignore[union-attr]
            whole, _, text[key.data] = piece.rpartition(b"\n\n")
            arrived.append((time.monotonic(), TRACE_ID.findall(whole)))
            dropped += sum(map(int, DROPPED.findall(whole)))
    results.send(([(at, [each.decode() for each in ids]) for at, ids in arrived], dropped))


def ingest(port: int) -> tuple[dict[str, float], list[float]]:
    """Sends traces at the pace. Returns the time of each acknowledgement, and the duration of each request."""
    bodies = [request() for _ in range(round(SECONDS * TRACES_PER_SECOND / TRACES_PER_REQUEST))]
    connection = HTTPConnection("127.0.0.1", port)
    acknowledged: dict[str, float] = {}
    took: list[float] = []
    begun = time.monotonic()
    for number, (trace_ids, body) in enumerate(bodies):
        time.sleep(max(0.0, begun + number * TRACES_PER_REQUEST / TRACES_PER_SECOND - time.monotonic()))
        sent = time.monotonic()
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        assert (response.status, response.read()) == (200, b"{}")
        now = time.monotonic()
        took.append(now - sent)
        acknowledged |= dict.fromkeys(trace_ids, now)
    return acknowledged, took


def quantiles(seconds: list[float]) -> str:
    """Returns the median and the 99th percentile in milliseconds."""
    ordered = sorted(seconds)
    return f"p50 {ordered[len(ordered) // 2] * 1000:.1f} ms, p99 {ordered[len(ordered) * 99 // 100] * 1000:.1f} ms"


def processor_seconds(service: RunningService) -> float:
    """Returns the processor time that the service has used."""
    fields = Path(f"/proc/{service.process.pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(service: RunningService, readers: int) -> None:
    """Prints the figures of one ingest rate with a number of readers."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=read, args=(service.port, readers, there))
    process.start()
    here.recv()
    used = processor_seconds(service)
    acknowledged, took = ingest(service.port)
    time.sleep(1)
    used = processor_seconds(service) - used
    here.send(None)
    arrived, dropped = here.recv()
    process.join()
    sys.stdout.write(f"{readers} readers: ingest {quantiles(took)}; {used / SECONDS:.2f} processors\n")
    if not readers:
        return
    waits = [
        at - acknowledged[trace_id] for at, trace_ids in arrived for trace_id in trace_ids if trace_id in acknowledged
    ]
    seen = Counter(trace_id for _, trace_ids in arrived for trace_id in trace_ids)
    assert sum(seen.values()) + dropped == readers * len(acknowledged), (sum(seen.values()), dropped)
    sys.stdout.write(
        f"  from acknowledgement to event {quantiles(waits)}; {len(waits)} events, {dropped} rows dropped\n"
    )


def main() -> None:
    """Measures without readers, with one, and with the maximum."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with tempfile.TemporaryDirectory() as folder, RunningService(Path(folder) / "data") as service:
        for readers in (0, 1, READERS):
            measure(service, readers)
        assert service.stop() == 0


if __name__ == "__main__":
    main()
