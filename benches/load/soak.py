"""Soak test: checks that memory, files, threads and latency are stable at 70 % of the maximum load.

Run it by hand: `python benches/load/soak.py`. It runs for `BENCH_SECONDS` (1800; a day is 86400) and prints a line per
minute. The rate is `BENCH_RATE` operations per second, or `BENCH_SHARE` (0.7) of the maximum rate, which it measures
first. CPU time stolen by the hypervisor does not count, because it also lowers the maximum.
"""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from cgroup import MEBIBYTE, ResourceUsage, resource_usage
from load_generators import numbered_request, trace_id

from support.services.hosted import start_hosted

if TYPE_CHECKING:
    from support.services.process import RunningService

SECONDS = int(os.environ.get("BENCH_SECONDS", "1800"))
SHARE = float(os.environ.get("BENCH_SHARE", "0.7"))
RATE = float(os.environ.get("BENCH_RATE", "0"))
WORKERS = 16
WINDOW_SECONDS = min(60, SECONDS // 6)
SAMPLES = 30
"""Samples of the resource usage per quarter of a window."""
MEASURED_SECONDS = 20
RETAINED_SECONDS = 120
"""Older traces are deleted, so that the size of the store stays constant."""
JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
FILTERS = (None, {"op": "EQ", "key": "status", "value": "ERROR"}, {"op": "CONTAINS", "key": "name", "value": "step"})


class Window(NamedTuple):
    """One minute: sorted latencies in ms, the minimum resource usage, and the number of open runs and streams.

    Memory usage oscillates with the unsealed spans; a leak shows in its minimum.
    """

    latencies: list[float]
    usage: ResourceUsage
    opened: float

    @property
    def p99(self) -> float:
        """Returns the 99th percentile."""
        return self.latencies[len(self.latencies) * 99 // 100]

    def __str__(self) -> str:
        memory = f"{self.usage.resident / MEBIBYTE:7.1f} {self.usage.private / MEBIBYTE:8.1f}"
        counts = f"{self.usage.files:6} {self.usage.threads:8} {self.opened:5.0f}"
        median = self.latencies[len(self.latencies) // 2]
        return f"{len(self.latencies):6} {median:8.2f} {self.p99:8.2f} {memory} {counts}"


def stolen_seconds() -> float:
    """Returns the stolen CPU time per processor since boot."""
    fields = Path("/proc/stat").read_text().partition("\n")[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)


class Work:
    """Threads that run a mix of operations, as fast as possible or at `rate` per second."""

    def __init__(self, service: RunningService, rate: float | None) -> None:
        self._service = service
        self._rate = rate
        self._begun = time.monotonic() - stolen_seconds()
        self._numbers = count()
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(WORKERS)]
        self._waited: list[float] = []
        self.failed: Counter[str] = Counter()

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join()

    def take_latencies(self) -> list[float]:
        """Returns the sorted latencies in ms of the operations that ended since the last call."""
        latencies, self._waited = self._waited, []
        return sorted(latencies)

    def _run(self, number: int) -> None:
        rng = random.Random(number)
        connection = HTTPConnection("127.0.0.1", self._service.port, timeout=60)
        while not self._done.is_set():
            number = next(self._numbers)
            # The latency of a delayed operation counts from its due time (coordinated omission).
            due = time.monotonic() if self._rate is None else self._begun + number / self._rate + stolen_seconds()
            if self._done.wait(max(0.0, due - time.monotonic())):
                return
            status = operation(connection, rng, number)
            self._waited.append((time.monotonic() - due) * 1000)
            if status != 200:
                self.failed[str(status)] += 1


def operation(connection: HTTPConnection, rng: random.Random, number: int) -> int:
    """Runs one random operation, and returns the status of its response."""
    number = int(time.time()) << 24 | number & 0xFFFFFF
    page = json.dumps({"limit": 20, "filter": rng.choice(FILTERS)}).encode()
    kinds: list[tuple[int, str, str, bytes, dict[str, str]]] = [
        (10, "POST", "/traces/search", page, JSON),
        (3, "POST", "/v1/traces", numbered_request(number), PROTOBUF),
        (3, "GET", f"/traces/{trace_id(number, 0)}", b"", {}),
        (3, "POST", "/agents/echo/runs", b"message=hi+there&stream=false&session_id=s%d" % rng.randrange(100), FORM),
        (3, "POST", "/agents/echo/runs", b"message=a+stream+of+words&session_id=s%d" % rng.randrange(100), FORM),
        (1, "GET", "/sessions?type=agent&component_id=echo", b"", {}),
    ]
    ((_, method, path, body, headers),) = rng.choices(kinds, [kind[0] for kind in kinds])
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    response.read()
    is_absent = method == "GET" and path.startswith("/traces/") and response.status == 404
    return 200 if is_absent else response.status


def delete_old(service: RunningService) -> None:
    """Deletes old traces, which also flushes the head."""
    until = (datetime.now(UTC) - timedelta(seconds=RETAINED_SECONDS)).isoformat()
    body = {"filter": {"op": "LT", "key": "start_time", "value": until}}
    service.http.post("/traces/delete", json=body).raise_for_status()


def windows(service: RunningService, work: Work) -> list[Window]:
    """Prints a line per minute, and returns the minutes."""
    found: list[Window] = []
    work.take_latencies()
    stolen = stolen_seconds()
    for minute in range(1, SECONDS // WINDOW_SECONDS + 1):
        minimum = resource_usage(service.process.pid)
        for _ in range(4):
            for _ in range(SAMPLES):
                time.sleep(WINDOW_SECONDS / 4 / SAMPLES)
                minimum = min(minimum, resource_usage(service.process.pid), key=lambda usage: usage.private)
            delete_old(service)
        text = service.http.get("/metrics").text
        opened = sum(float(value) for value in re.findall(r"^spanwise_(?:active|open)_\w+ (\S+)$", text, re.MULTILINE))
        found.append(Window(work.take_latencies(), minimum, opened))
        before, stolen = stolen, stolen_seconds()
        share = (stolen - before) / WINDOW_SECONDS
        sys.stdout.write(f"{minute:6} {found[-1]} {os.getloadavg()[0]:5.1f} {share:7.0%}\n")
        sys.stdout.flush()
    return found


def slope(minutes: list[Window]) -> float:
    """Returns the growth of the private memory in MiB per hour, by linear regression."""
    hours = [minute * WINDOW_SECONDS / 3600 for minute in range(len(minutes))]
    return statistics.linear_regression(hours, [each.usage.private / MEBIBYTE for each in minutes]).slope


def main() -> None:
    log = sys.stdout.write
    log(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        service = opened.enter_context(start_hosted(Path(name), SPANWISE_LOG_LEVEL="warning"))
        rate = RATE
        if not rate:
            with Work(service, None) as work:
                time.sleep(MEASURED_SECONDS)
                most = len(work.take_latencies()) / MEASURED_SECONDS
            rate = most * SHARE
            log(f"maximum {most:.0f} operations per second; ")
        log(f"{rate:.0f} per second for {SECONDS} s\n")
        log("minute    ops   p50 ms   p99 ms RSS MiB  private  files  threads  open  load  stolen\n")
        with Work(service, rate) as work:
            minutes = windows(service, work)
        failed = dict(work.failed)
        time.sleep(2)
        idle = resource_usage(service.process.pid)
        assert service.stop() == 0
    settled = minutes[len(minutes) // 3 :]
    third = max(1, len(settled) // 3)
    early, late = (statistics.median(each.p99 for each in part) for part in (settled[:third], settled[-third:]))
    log(f"responses other than 200: {failed}; afterwards {idle.files} files, {idle.threads} threads\n")
    log(f"private memory {slope(settled):+.1f} MiB per hour after the first third; ")
    log(f"p99 of its first third {early:.1f} ms, of its last {late:.1f} ms: {late / early - 1:+.1%}\n")
    log(f"load average {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    main()
