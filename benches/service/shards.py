"""Measures the cost of shards for a search and an export, in one process and in several, compared with a single store.

Run it by hand: `python benches/service/shards.py`. It needs `spanwise[cluster]`. Four services have the same traces and
get the same requests in turn, over one connection each. Every response must equal the single store's. The last service
sends every part of a request in its own call, which shows the benefit of batching.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from spanwise.demo import CONTENT_TYPE, export_requests
from support.services.cluster import shard_processes
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.demo import ExportRequest

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TRACES = 20_000
SEED = 7
ROUNDS = 150
SENDERS = 8
RESTED_SECONDS = 0.05
BY_RAY = ("--shards", "3", "--cluster", "local")
SERVICES: dict[str, tuple[str, ...]] = {
    "one store": (),
    "three shards": ("--shards", "3"),
    "by Ray": BY_RAY,
    "by Ray, a call a part": (*BY_RAY, "unbatched:service"),
}
FAILED = {"op": "EQ", "key": "status", "value": "ERROR"}
ASKED: dict[str, dict[str, object]] = {
    "a page of 20 whole trees": {"detail": "full"},
    "the same of failed ones": {"detail": "full", "filter": FAILED},
    "page 500": {"detail": "full", "page": 500},
    "a page of 20 summaries": {"detail": "summary"},
    "sessions": {"group_by": "session"},
    "sessions of failed ones": {"group_by": "session", "filter": FAILED},
}
SEARCHED = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
say = sys.stdout.write


def post(connection: HTTPConnection, path: str, body: bytes, kind: str) -> tuple[bytes, float]:
    """Returns the body of a response, and its duration in milliseconds."""
    began = time.perf_counter()
    connection.request("POST", path, body, {"Content-Type": kind})
    response = connection.getresponse()
    content = response.read()
    took = (time.perf_counter() - began) * 1000
    assert response.status == 200, content
    return content, took


def processor_seconds(service: RunningService) -> float:
    """Returns the processor time of a service and its shards so far."""
    ticks = 0
    for pid in (service.process.pid, *shard_processes(service.process.pid)):
        fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def fill(services: dict[str, RunningService]) -> None:
    """Sends the same requests to all services, from one sender and then from several, and prints the times.

    One service follows the other. Processor time includes their background work afterwards.
    """
    for senders in (1, SENDERS):
        exports = list(export_requests(TRACES // 2, SEED + senders, NOW))
        spans = sum(export.spans for export in exports)
        say(f"{len(exports)} requests with {spans:,} spans by {senders} senders\n")
        for name, service in services.items():
            before, began = processor_seconds(service), time.perf_counter()
            with ThreadPoolExecutor(senders) as threads:
                for times in [threads.submit(send, service, exports[own::senders]) for own in range(senders)]:
                    times.result()
            took = time.perf_counter() - began
            used = rested_seconds(service) - before
            say(f"  {name}: {took:.1f} s, processor {used / spans * 1e6:.1f} us a span\n")


def send(service: RunningService, exports: Sequence[ExportRequest]) -> None:
    """Sends requests one after the other over a connection."""
    connection = HTTPConnection("127.0.0.1", service.port)
    for export in exports:
        post(connection, "/v1/traces", export.body, CONTENT_TYPE)
    connection.close()


def rested_seconds(service: RunningService) -> float:
    """Returns the processor time of a service and its shards once they are idle."""
    before = 0.0
    while (used := processor_seconds(service)) - before > RESTED_SECONDS:
        before = used
        time.sleep(1)
    return used


def ask(connections: dict[str, HTTPConnection], services: dict[str, RunningService]) -> None:
    """Prints the median and the 99th percentile of every query, and the processor time of one."""
    for question, body in ASKED.items():
        text = json.dumps({"limit": 20} | body).encode()
        times: dict[str, list[float]] = {name: [] for name in connections}
        before = {name: processor_seconds(service) for name, service in services.items()}
        for _ in range(ROUNDS):
            answers = set()
            for name, connection in connections.items():
                content, took = post(connection, "/traces/search", text, "application/json")
                answers.add(re.sub(rb'"created_at":"[^"]*"|"search_time_ms":[0-9.]+', b"", content))
                times[name].append(took)
            assert len(answers) == 1, question
        say(f"{question}:\n")
        for name, own in times.items():
            used = (processor_seconds(services[name]) - before[name]) / ROUNDS * 1000
            say(f"  {name}: {median(own):.2f}; {quantiles(own, n=100)[98]:.2f} ms, processor {used:.1f} ms\n")


def main() -> None:
    say(f"load before it began: {os.getloadavg()[0]:.1f}; cores: {os.cpu_count()}\n")
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        services, connections = {}, {}
        for number, (name, flags) in enumerate(SERVICES.items()):
            began = time.monotonic()
            services[name] = opened.enter_context(RunningService(folder / str(number), *flags, PYTHONPATH=SEARCHED))
            say(f"{name} is ready after {time.monotonic() - began:.1f} s\n")
            connections[name] = HTTPConnection("127.0.0.1", services[name].port)
        fill(services)
        ask(connections, services)
        for service in services.values():
            service.stop()


if __name__ == "__main__":
    main()
