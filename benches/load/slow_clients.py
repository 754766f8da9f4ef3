"""Measures the cost of slow clients: 2,000 that never finish their headers, and 500 that read one byte per second.

Run it by hand: `python benches/load/slow_clients.py`. It prints when they were disconnected, and until then the latency
for other clients and the memory of the service.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Self

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from spanwise import TraceStore
from spanwise.demo import CONTENT_TYPE, export_requests
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TRACES = 2000
HEADERS = int(os.environ.get("BENCH_HEADS", "2000"))
READERS = int(os.environ.get("BENCH_READERS", "500"))
SEED = 7
MEBIBYTE = 1024 * 1024
BODY = json.dumps({"limit": 100}).encode()
SEARCH_REQUEST = (
    b"POST /traces/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
)


class Monitor:
    """Measures the latency of `/health` and the memory of the service every 50 ms."""

    def __init__(self, service: RunningService) -> None:
        self._service = service
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.waited: list[float] = []
        self.peak = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(0.05):
            begun = time.perf_counter()
            connection = HTTPConnection("127.0.0.1", self._service.port, timeout=60)
            connection.request("GET", "/health")
            assert connection.getresponse().status == 200
            connection.close()
            self.waited.append((time.perf_counter() - begun) * 1000)
            self.peak = max(self.peak, memory(self._service))

    def __str__(self) -> str:
        ordered = sorted(self.waited)
        return (
            f"health p50 {ordered[len(ordered) // 2]:.1f} ms, p99 {ordered[len(ordered) * 99 // 100]:.1f} ms; "
            f"peak resident {self.peak / MEBIBYTE:.0f} MiB"
        )


def memory(service: RunningService) -> int:
    """Returns the resident bytes of the service."""
    return int(Path(f"/proc/{service.process.pid}/statm").read_text().split()[1]) * resource.getpagesize()


def connections(service: RunningService) -> int:
    """Returns the number of open sockets of the service."""
    folder = Path(f"/proc/{service.process.pid}/fd")
    return sum(file.readlink().name.startswith("socket:") for file in folder.iterdir() if file.is_symlink())


def clients(service: RunningService, count: int, first: bytes, act: Callable[[socket.socket], object]) -> str:
    """Returns the fate of `count` connections that send `first` and then `act` once a second, until all are gone."""
    own = connections(service)
    with ExitStack() as opened, Monitor(service) as monitor:
        begun = time.monotonic()
        clients = [opened.enter_context(socket.create_connection(("127.0.0.1", service.port))) for _ in range(count)]
        for each in clients:
            each.sendall(first)
            each.settimeout(0)
        time.sleep(1)
        most = connections(service) - own
        while (left := connections(service) - own) > 10:
            for each in clients:
                try:
                    act(each)
                except OSError:
                    continue
            most = max(most, left)
            time.sleep(0.5)
        ended = time.monotonic() - begun
    return f"{most} connected at once, disconnected after {ended:.0f} s; {monitor}"


def main() -> None:
    log = sys.stdout.write
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(allowed, min(most, 8192)), most))
    log(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        store = TraceStore.open(str(data / "traces"))
        for export in export_requests(TRACES, SEED, NOW):
            assert store.ingest(export.body, CONTENT_TYPE).rejected_spans == 0
        store.close()
        with RunningService(data) as service:
            size = len(service.search(limit=100).raise_for_status().content)
            log(f"before: resident {memory(service) / MEBIBYTE:.0f} MiB; a page of 100 traces is {size} bytes\n")
            log(f"{HEADERS} clients with slow headers: {clients(service, HEADERS, b'G', lambda _: None)}\n")
            sys.stdout.flush()
            search = SEARCH_REQUEST % (len(BODY), BODY)
            result = clients(service, READERS, search, lambda each: each.recv(1))
            log(f"{READERS} clients reading a byte per second: {result}\n")
            assert service.search().status_code == 200
            log(f"after: resident {memory(service) / MEBIBYTE:.0f} MiB\n")
            assert service.stop() == 0
    log(f"load average {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    main()
