"""Measures the lag of a reader beside ingest, and the latency of its searches at rest and beside ingest.

Run it by hand: `python benches/load/readers.py`, with `--bucket` for a local S3 server instead of a folder. The writer
has one core and the reader another; the clients and the S3 server use both. Every acknowledged span must be found.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from queue import Empty
from statistics import quantiles
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from load_generators import TRACES, numbered_request, post, trace_id

from support.servers.buckets import BUCKET, S3
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

SPANS = 4
"""Spans of each trace of a numbered request."""
PROBE_SECONDS = 0.2
POLL_SECONDS = 0.01
_PROTOBUF = {"Content-Type": "application/x-protobuf"}
_JSON = {"Content-Type": "application/json"}
_FILTERS: list[object] = [
    None,
    {"op": "EQ", "key": "session_id", "value": "stress"},
    {"op": "CONTAINS", "key": "name", "value": "tep"},
    {"op": "EQ", "key": "status", "value": "ERROR"},
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=20_000, help="spans a second")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each part")
    parser.add_argument("--traces", type=int, default=100_000, help="in the store before")
    parser.add_argument("--bucket", action="store_true")
    options = parser.parse_args()
    say(f"load before it began: {os.getloadavg()[0]:.1f}; cores: {os.cpu_count()}")
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        data_dir, environment = str(folder / "data"), {}
        if options.bucket:
            server = opened.enter_context(S3(folder / "s3.log"))
            data_dir, environment = f"s3://{BUCKET}/readers", server.environment(None)
        own = ("--data-dir", data_dir)
        with on_core(0):
            cache = ("--cache-dir", str(folder / "one")) if options.bucket else ()
            writer = opened.enter_context(RunningService(folder / "writer", *own, *cache, **environment))
        fill(writer.port, options.traces)
        with on_core(1):
            cache = ("--cache-dir", str(folder / "two")) if options.bucket else ()
            reader = opened.enter_context(RunningService(folder / "reader", *own, *cache, "--reader", **environment))
        wait_for_indexes(reader)
        report("searches at rest", searches(reader.port, options.seconds))
        measure_beside(writer, reader, options.rate, options.seconds)


@contextmanager
def on_core(core: int) -> Iterator[None]:
    """Pins the processes started in the block to one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core % (os.cpu_count() or 1)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def fill(port: int, traces: int) -> None:
    """Sends traces as fast as they are acknowledged."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    for number in range(traces // TRACES):
        while post(connection, "/v1/traces", numbered_request(number), _PROTOBUF) != "200":
            pass


def wait_for_indexes(reader: RunningService) -> None:
    """Waits until the reader has indexed its traces."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        lines = reader.http.get("/metrics").text.splitlines()
        waiting = [line for line in lines if line.startswith("spanwise_store_segments_without_")]
        if waiting and all(line.endswith(" 0") for line in waiting):
            return
        time.sleep(0.5)
    say("some segments have no indexes after 300 s")


def searches(port: int, seconds: float) -> list[float]:
    """Returns the durations of consecutive searches, in seconds."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    taken = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        body = json.dumps({"filter": _FILTERS[len(taken) % len(_FILTERS)], "limit": 20}).encode()
        began = time.perf_counter()
        status = post(connection, "/traces/search", body, _JSON)
        taken.append(time.perf_counter() - began)
        assert status == "200", status
        time.sleep(0.02)
    return taken


def send(port: int, rate: int, seconds: float, acknowledged: multiprocessing.Queue[tuple[int, float]]) -> None:
    """Sends at a steady rate, and reports the time of each acknowledgement."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    interval, began = TRACES * SPANS / rate, time.monotonic()
    for number in range(int(seconds / interval)):
        time.sleep(max(0.0, began + number * interval - time.monotonic()))
        status = post(connection, "/v1/traces", numbered_request((1 << 40) + number), _PROTOBUF)
        assert status == "200", status
        acknowledged.put(((1 << 40) + number, time.monotonic()))
    say(f"sent {int(seconds / interval) * TRACES * SPANS / (time.monotonic() - began):,.0f} spans/s")


def measure_beside(writer: RunningService, reader: RunningService, rate: int, seconds: float) -> None:
    """Measures the lag and the searches of the reader while the writer ingests."""
    acknowledged: multiprocessing.Queue[tuple[int, float]] = multiprocessing.Queue()
    sending = multiprocessing.Process(target=send, args=(writer.port, rate, seconds, acknowledged))
    taken: list[float] = []
    searching = threading.Thread(target=lambda: taken.extend(searches(reader.port, seconds)))
    sending.start()
    searching.start()
    ages = probe(reader.port, acknowledged, sending)
    searching.join()
    sending.join()
    assert sending.exitcode == 0, "the sender has failed"
    report("age of what the reader shows", ages)
    report("searches beside it", taken)


def probe(
    port: int, acknowledged: multiprocessing.Queue[tuple[int, float]], sending: multiprocessing.Process
) -> list[float]:
    """Returns the seconds between the acknowledgement of a trace and its first appearance. Samples the traces."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    ages: list[float] = []
    while sending.is_alive():
        try:
            number, at = acknowledged.get(timeout=1)
        except Empty:
            continue
        while not acknowledged.empty():
            number, at = acknowledged.get()
        while not is_found(connection, trace_id(number, TRACES - 1)):
            assert time.monotonic() < at + 60, "an acknowledged trace is not found"
            time.sleep(POLL_SECONDS)
        ages.append(time.monotonic() - at)
        time.sleep(PROBE_SECONDS)
    return ages


def is_found(connection: HTTPConnection, trace: str) -> bool:
    connection.request("GET", f"/traces/{trace}?detail=skeleton")
    response = connection.getresponse()
    response.read()
    return response.status == 200


def report(what: str, seconds: list[float]) -> None:
    """Prints the median and the 99th percentile, in milliseconds."""
    cuts = quantiles(seconds, n=100)
    say(f"{what}: p50 {cuts[49] * 1e3:.1f} ms, p99 {cuts[98] * 1e3:.1f} ms, {len(seconds)} taken")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
