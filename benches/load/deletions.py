"""Measures the effect of continuous deletions on the exports of a known caller.

Run it by hand: `python benches/load/deletions.py`. One caller exports small requests at a fixed rate. It prints the
latencies of the exports at rest, beside deletions of recent traces, and beside deletions of older ones.
`BENCH_ENGINE=FILE` also measures another engine, in turn with the current one.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import spanwise
from support.clients.otlp import export_request
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = float(os.environ.get("BENCH_SECONDS", "10"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "2"))
RATE = int(os.environ.get("BENCH_RATE", "50"))
OLD = 2_000
"""Traces that exist before the test, in segments."""
AGE = 5
"""The age of recently exported traces at their deletion, in requests."""

_JSON = {"Content-Type": "application/json"}


class Figures(NamedTuple):
    """Latencies of exports in ms, and the number of traces deleted at the same time."""

    p50: float
    p99: float
    exports: int
    deleted: int


class Load:
    """One caller that exports, and one that deletes.

    Attributes:
        sent: the number of the last exported trace.
    """

    def __init__(self, port: int) -> None:
        """Creates a load for the service at a port."""
        self._port = port
        self.sent = 0
        self._deleted = 0

    def export(self, connection: HTTPConnection) -> float:
        """Exports one trace and returns the duration, in ms."""
        number = self.sent + 1
        begun = time.perf_counter()
        connection.request("POST", "/v1/traces", export_request(f"{number:032x}", "a" * 16), _JSON)
        response = connection.getresponse()
        body = response.read()
        assert response.status == 200, body
        self.sent = number
        return (time.perf_counter() - begun) * 1000

    def delete(self, numbers: Iterator[int], ended: threading.Event) -> None:
        """Deletes one trace after the other until the event is set."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        while not ended.is_set():
            number = next(numbers)
            if number < 1:
                time.sleep(0.01)
                continue
            chosen = {"op": "EQ", "key": "trace_id", "value": f"{number:032x}"}
            connection.request("POST", "/traces/delete", json.dumps({"filter": chosen}), _JSON)
            response = connection.getresponse()
            body = json.loads(response.read())
            assert response.status == 200, body
            self._deleted += body["deleted"]

    def measure(self, numbers: Iterator[int] | None) -> Figures:
        """Returns the latencies of exports beside deletions of these traces."""
        ended, before = threading.Event(), self._deleted
        deleter = threading.Thread(target=self.delete, args=(numbers, ended)) if numbers else None
        if deleter:
            deleter.start()
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        latencies, begun = [], time.monotonic()
        while (due := begun + len(latencies) / RATE) < begun + SECONDS:
            time.sleep(max(0.0, due - time.monotonic()))
            latencies.append(self.export(connection))
        ended.set()
        if deleter:
            deleter.join()
        latencies.sort()
        middle, high = latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]
        return Figures(middle, high, len(latencies), self._deleted - before)

    def recent(self) -> Iterator[int]:
        """Yields the numbers of recently exported traces."""
        last = 0
        while True:
            last = max(last, self.sent - AGE) if self.sent - AGE > last else last
            yield self.sent - AGE if self.sent - AGE == last else 0

    def expect_all(self, service: RunningService) -> None:
        """Checks that every trace that was exported and not deleted exists."""
        total = service.search(limit=1).json()["meta"]["total_count"]
        assert total == self.sent - self._deleted, (total, self.sent, self._deleted)


def measure(folder: Path) -> dict[str, Figures]:
    """Returns the figures of the current engine, in a new folder."""
    with RunningService(folder) as service:
        load = Load(service.port)
        connection = HTTPConnection("127.0.0.1", service.port, timeout=60)
        for _ in range(OLD):
            load.export(connection)
        old = count(1)
        figures = {"at rest": load.measure(None)}
        load.expect_all(service)
        figures["recent traces"] = load.measure(load.recent())
        load.expect_all(service)
        figures["older traces"] = load.measure(old)
        load.expect_all(service)
        assert all(found.deleted > 0 for name, found in figures.items() if name != "at rest")
        assert service.stop() == 0
    return figures


def main() -> None:
    log = sys.stdout.write
    present = Path(spanwise.__file__).with_name("_engine.abi3.so")
    log(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, {RATE} exports a second\n")
    with tempfile.TemporaryDirectory() as name:
        own = Path(name) / "present.so"
        shutil.copy2(present, own)
        engines = {"present": own}
        if other := os.environ.get("BENCH_ENGINE"):
            engines = {"other": Path(other), **engines}
        try:
            for number in range(ROUNDS):
                for engine, file in engines.items():
                    shutil.copy2(file, present.with_suffix(".new"))
                    present.with_suffix(".new").replace(present)
                    for what, found in measure(Path(name) / f"{engine}-{number}").items():
                        log(
                            f"{engine}, {what}: p50 {found.p50:.1f} ms, p99 {found.p99:.1f} ms of {found.exports} "
                            f"exports, {found.deleted} traces deleted\n"
                        )
        finally:
            shutil.copy2(own, present)


if __name__ == "__main__":
    main()
