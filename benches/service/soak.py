"""Does a service that works at 70 % of what it can do stay as it is: memory, files, threads, and how long callers wait?

Run by hand: `python benches/service/soak.py`. It works for `BENCH_SECONDS` (1800; a day is 86400) at `BENCH_SHARE`
(0.7) of the rate that it measured before, or at `BENCH_RATE` operations a second, and prints a line a minute. Time in
which the processors were taken away from the machine does not count: then it can do less too.
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

from besieging import export_numbered, trace_id
from confining import MEBIBYTE, Taken, taken_by

from support.services.hosted import start_hosted

if TYPE_CHECKING:
    from support.services.process import RunningService

SECONDS = int(os.environ.get("BENCH_SECONDS", "1800"))
SHARE = float(os.environ.get("BENCH_SHARE", "0.7"))
RATE = float(os.environ.get("BENCH_RATE", "0"))
WORKERS = 16
WINDOW_SECONDS = min(60, SECONDS // 6)
SAMPLES = 30
"""What the service takes is looked at so often in a quarter of a window."""
MEASURED_SECONDS = 20
KEPT_SECONDS = 120
"""Older traces are deleted, so that the store is as large at the end as soon after the beginning."""
JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
FILTERS = (None, {"op": "EQ", "key": "status", "value": "ERROR"}, {"op": "CONTAINS", "key": "name", "value": "step"})


class Window(NamedTuple):
    """One minute: how long operations took, in ms, sorted; the least that the service took; what it had open.

    How much it takes goes up and down with what is not sealed yet. What is lost for ever shows in the least.
    """

    waited: list[float]
    taken: Taken
    opened: float

    @property
    def last(self) -> float:
        """Returns the 99th percentile."""
        return self.waited[len(self.waited) * 99 // 100]

    def __str__(self) -> str:
        memory = f"{self.taken.resident / MEBIBYTE:7.1f} {self.taken.private / MEBIBYTE:8.1f}"
        counts = f"{self.taken.files:6} {self.taken.threads:8} {self.opened:5.0f}"
        return f"{len(self.waited):6} {self.waited[len(self.waited) // 2]:8.2f} {self.last:8.2f} {memory} {counts}"


def stolen_seconds() -> float:
    """Returns for how long each processor was taken away by others of the same host, since the machine began."""
    fields = Path("/proc/stat").read_text().partition("\n")[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)


class Work:
    """Workers that do operations of all kinds: as fast as they can, or `rate` of them a second."""

    def __init__(self, service: RunningService, rate: float | None) -> None:
        self._service = service
        self._rate = rate
        self._begun = time.monotonic() - stolen_seconds()
        self._turns = count()
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

    def taken(self) -> list[float]:
        """Returns how long the operations took that ended since this was asked last, in ms, sorted."""
        waited, self._waited = self._waited, []
        return sorted(waited)

    def _run(self, number: int) -> None:
        rng = random.Random(number)
        connection = HTTPConnection("127.0.0.1", self._service.port, timeout=60)
        while not self._done.is_set():
            turn = next(self._turns)
            # One that begins late because others were slow has waited since its time.
            due = time.monotonic() if self._rate is None else self._begun + turn / self._rate + stolen_seconds()
            if self._done.wait(max(0.0, due - time.monotonic())):
                return
            status = operation(connection, rng, turn)
            self._waited.append((time.monotonic() - due) * 1000)
            if status != 200:
                self.failed[str(status)] += 1


def operation(connection: HTTPConnection, rng: random.Random, turn: int) -> int:
    """Does one thing that callers do, and returns the status of its answer, read whole."""
    number = int(time.time()) << 24 | turn & 0xFFFFFF
    page = json.dumps({"limit": 20, "filter": rng.choice(FILTERS)}).encode()
    kinds: list[tuple[int, str, str, bytes, dict[str, str]]] = [
        (10, "POST", "/traces/search", page, JSON),
        (3, "POST", "/v1/traces", export_numbered(number), PROTOBUF),
        (3, "GET", f"/traces/{trace_id(number, 0)}", b"", {}),
        (3, "POST", "/agents/echo/runs", b"message=hi+there&stream=false&session_id=s%d" % rng.randrange(100), FORM),
        (3, "POST", "/agents/echo/runs", b"message=a+stream+of+words&session_id=s%d" % rng.randrange(100), FORM),
        (1, "GET", "/sessions?type=agent&component_id=echo", b"", {}),
    ]
    ((_, method, path, body, headers),) = rng.choices(kinds, [kind[0] for kind in kinds])
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    answer.read()
    is_absent = method == "GET" and path.startswith("/traces/") and answer.status == 404
    return 200 if is_absent else answer.status


def forget(service: RunningService) -> None:
    """Deletes what is old, which also seals what is not sealed."""
    until = (datetime.now(UTC) - timedelta(seconds=KEPT_SECONDS)).isoformat()
    body = {"filter": {"op": "LT", "key": "start_time", "value": until}}
    service.http.post("/traces/delete", json=body).raise_for_status()


def windows(service: RunningService, work: Work) -> list[Window]:
    """Prints a line a minute and returns the minutes."""
    found: list[Window] = []
    work.taken()
    stolen = stolen_seconds()
    for minute in range(1, SECONDS // WINDOW_SECONDS + 1):
        least = taken_by(service.process.pid)
        for _ in range(4):
            for _ in range(SAMPLES):
                time.sleep(WINDOW_SECONDS / 4 / SAMPLES)
                least = min(least, taken_by(service.process.pid), key=lambda taken: taken.private)
            forget(service)
        text = service.http.get("/metrics").text
        opened = sum(float(value) for value in re.findall(r"^spanwise_(?:active|open)_\w+ (\S+)$", text, re.MULTILINE))
        found.append(Window(work.taken(), least, opened))
        before, stolen = stolen, stolen_seconds()
        share = (stolen - before) / WINDOW_SECONDS
        sys.stdout.write(f"{minute:6} {found[-1]} {os.getloadavg()[0]:5.1f} {share:7.0%}\n")
        sys.stdout.flush()
    return found


def slope(minutes: list[Window]) -> float:
    """Returns how many MiB of private memory an hour adds, by a line through what was measured."""
    places = [minute * WINDOW_SECONDS / 3600 for minute in range(len(minutes))]
    return statistics.linear_regression(places, [each.taken.private / MEBIBYTE for each in minutes]).slope


def main() -> None:
    """Prints the figures."""
    say = sys.stdout.write
    say(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as name, ExitStack() as opened:
        service = opened.enter_context(start_hosted(Path(name), SPANWISE_LOG_LEVEL="warning"))
        rate = RATE
        if not rate:
            with Work(service, None) as work:
                time.sleep(MEASURED_SECONDS)
                most = len(work.taken()) / MEASURED_SECONDS
            rate = most * SHARE
            say(f"at most {most:.0f} operations a second; ")
        say(f"{rate:.0f} a second for {SECONDS} s\n")
        say("minute    ops   p50 ms   p99 ms RSS MiB  private  files  threads  open  load  stolen\n")
        with Work(service, rate) as work:
            minutes = windows(service, work)
        failed = dict(work.failed)
        time.sleep(2)
        idle = taken_by(service.process.pid)
        assert service.stop() == 0
    settled = minutes[len(minutes) // 3 :]
    third = max(1, len(settled) // 3)
    early, late = (statistics.median(each.last for each in part) for part in (settled[:third], settled[-third:]))
    say(f"not answered 200: {failed}; afterwards {idle.files} files, {idle.threads} threads\n")
    say(f"private memory {slope(settled):+.1f} MiB an hour after the first third; ")
    say(f"p99 of its first third {early:.1f} ms, of its last {late:.1f} ms: {late / early - 1:+.1%}\n")
    say(f"load average {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    main()
