"""What do callers that hold on to their connections cost: 2,000 slow heads, 500 readers of one byte a second?

Run by hand: `python benches/service/crowds.py`. It prints when they were let go, what others waited
meanwhile, and memory.
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
HEADS = int(os.environ.get("BENCH_HEADS", "2000"))
READERS = int(os.environ.get("BENCH_READERS", "500"))
SEED = 7
MEBIBYTE = 1024 * 1024
BODY = json.dumps({"limit": 100}).encode()
ASK = b"POST /traces/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"


class Watch:
    """What a caller with good manners waits for `/health`, and how much memory the service has, once in 50 ms."""

    def __init__(self, service: RunningService) -> None:
        self._service = service
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.waited: list[float] = []
        self.most = 0

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
            self.most = max(self.most, memory(self._service))

    def __str__(self) -> str:
        ordered = sorted(self.waited)
        return (
            f"health p50 {ordered[len(ordered) // 2]:.1f} ms, p99 {ordered[len(ordered) * 99 // 100]:.1f} ms; "
            f"resident at most {self.most / MEBIBYTE:.0f} MiB"
        )


def memory(service: RunningService) -> int:
    """Returns the resident bytes of the service."""
    return int(Path(f"/proc/{service.process.pid}/statm").read_text().split()[1]) * resource.getpagesize()


def connections(service: RunningService) -> int:
    """Returns how many sockets the service holds."""
    folder = Path(f"/proc/{service.process.pid}/fd")
    return sum(file.readlink().name.startswith("socket:") for file in folder.iterdir() if file.is_symlink())


def crowd(service: RunningService, count: int, first: bytes, act: Callable[[socket.socket], object]) -> str:
    """Returns what became of `count` connections that send `first` and then `act` once a second, until all are gone."""
    own = connections(service)
    with ExitStack() as opened, Watch(service) as watch:
        begun = time.monotonic()
        crowd = [opened.enter_context(socket.create_connection(("127.0.0.1", service.port))) for _ in range(count)]
        for each in crowd:
            each.sendall(first)
            each.settimeout(0)
        time.sleep(1)
        most = connections(service) - own
        while (left := connections(service) - own) > 10:
            for each in crowd:
                try:
                    act(each)
                except OSError:
                    continue
            most = max(most, left)
            time.sleep(0.5)
        ended = time.monotonic() - begun
    return f"{most} held at once, let go after {ended:.0f} s; {watch}"


def main() -> None:
    """Prints the figures."""
    say = sys.stdout.write
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(allowed, min(most, 8192)), most))
    say(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        store = TraceStore.open(str(data / "traces"))
        for export in export_requests(TRACES, SEED, NOW):
            assert store.ingest(export.body, CONTENT_TYPE).rejected_spans == 0
        store.close()
        with RunningService(data) as service:
            size = len(service.search(limit=100).raise_for_status().content)
            say(f"before: resident {memory(service) / MEBIBYTE:.0f} MiB; a page of 100 traces is {size} bytes\n")
            say(f"{HEADS} slow heads: {crowd(service, HEADS, b'G', lambda _: None)}\n")
            sys.stdout.flush()
            ask = ASK % (len(BODY), BODY)
            say(f"{READERS} readers of a byte a second: {crowd(service, READERS, ask, lambda each: each.recv(1))}\n")
            assert service.search().status_code == 200
            say(f"after: resident {memory(service) / MEBIBYTE:.0f} MiB\n")
            assert service.stop() == 0
    say(f"load average {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    main()
