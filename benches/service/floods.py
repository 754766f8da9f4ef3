"""What do floods of clients that nobody knows do to a caller that is known?

Run it by hand: `python benches/service/floods.py`. Each flood is aimed at the service, and for comparison at a port of
another process on the same cores that accepts connections and does nothing else, so that what the flood itself takes of
the processors counts on both sides. It prints the p99 of searches at rest, beside the idle port and under the flood.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.clients.otlp import export_request
from support.clients.tokens import as_caller, jwks_file
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS = float(os.environ.get("BENCH_SECONDS", "20"))
RATE = int(os.environ.get("BENCH_RATE", "1000"))
TRACES = 200
GOAL = 3.0

_FORGED = as_caller("mallory", "agent_os:admin")["Authorization"][:-8]
_KEY = base64.b64encode(bytes(16)).decode()
_UPGRADE = f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {_KEY}\r\n"
FLOODS: dict[str, tuple[int, str, str]] = {
    "forged tokens": (RATE, "/traces", f"Authorization: {_FORGED}AAAAAAAA\r\nConnection: close\r\n"),
    "tokens of 100 KB": (RATE // 2, "/traces", f"Authorization: Bearer {'x' * 100_000}\r\nConnection: close\r\n"),
    "pages": (RATE // 4, "/docs", "Accept-Encoding: gzip\r\nConnection: close\r\n"),
    "sockets": (RATE // 4, "/workflows/ws", _UPGRADE),
}
"""By name: connections a second, their path and their headers."""


async def _connect_once(port: int, request: bytes) -> None:
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(5):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            await reader.read(65536)
            writer.transport.abort()


async def flood(name: str, port: int) -> None:
    """Opens connections at a fixed rate until the process is ended."""
    rate, path, headers = FLOODS[name]
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode()
    tasks: set[asyncio.Task[None]] = set()
    begun, count = time.perf_counter(), 0
    while True:
        while count < (time.perf_counter() - begun) * rate:
            count += 1
            if len(tasks) < RATE:
                task = asyncio.create_task(_connect_once(port, request))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        await asyncio.sleep(0.005)


async def idle(port: int) -> None:
    """Accepts connections and answers each with as little as possible."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await reader.read(1024)
            writer.write(b"HTTP/1.1 401 \r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            writer.close()

    async with await asyncio.start_server(respond, "127.0.0.1", port) as server:
        await server.serve_forever()


@contextmanager
def running(*arguments: str) -> Iterator[None]:
    """Runs this program as a process until the end of the block."""
    process = subprocess.Popen([sys.executable, __file__, *arguments])
    try:
        time.sleep(1)
        yield
    finally:
        process.kill()
        process.wait()


def p99_of_searches(service: RunningService) -> float:
    """Returns the p99 of the searches of one known caller, in ms."""
    headers = {"Content-Type": "application/json", **as_caller("alice", "traces:read")}
    connection = HTTPConnection("127.0.0.1", service.port, timeout=60)
    latencies = []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        begun = time.perf_counter()
        connection.request("POST", "/traces/search", b'{"limit": 20}', headers)
        response = connection.getresponse()
        page = response.read()
        latencies.append((time.perf_counter() - begun) * 1000)
        assert response.status == 200, page
        assert json.loads(page)["meta"]["total_count"] == TRACES
        time.sleep(0.01)
    return sorted(latencies)[len(latencies) * 99 // 100]


def private_mebibytes(service: RunningService) -> float:
    """Returns the private memory of the service."""
    lines = Path(f"/proc/{service.process.pid}/smaps_rollup").read_text("ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def main() -> None:
    """Prints the figures."""
    if len(sys.argv) > 1:
        kind, *arguments = sys.argv[1:]
        work = flood(arguments[0], int(arguments[1])) if kind == "flood" else idle(int(arguments[0]))
        asyncio.run(work)
    log = sys.stdout.write
    log(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with RunningService(path / "data", "--authorization", JWT_JWKS_FILE=jwks_file(path)) as service:
            writer = {"Content-Type": "application/json", **as_caller("writer", "traces:write")}
            for number in range(1, TRACES + 1):
                export = export_request(f"{number:032x}", "b" * 16, **{"user.id": "alice"})
                service.http.post("/v1/traces", content=export, headers=writer).raise_for_status()
            rest, memory = p99_of_searches(service), private_mebibytes(service)
            log(f"at rest: p99 {rest:.1f} ms, {memory:.0f} MiB private\n")
            for name in FLOODS:
                port = free_port()
                with running("idle", str(port)), running("flood", name, str(port)):
                    beside = p99_of_searches(service)
                with running("flood", name, str(service.port)):
                    under = p99_of_searches(service)
                grown = private_mebibytes(service) - memory
                log(
                    f"{name}: {FLOODS[name][0]} a second; p99 {beside:.1f} ms beside an idle port, {under:.1f} ms "
                    f"under the flood, ratio {under / beside:.1f} (goal {GOAL:g}), memory {grown:+.0f} MiB\n"
                )
            assert service.stop() == 0


if __name__ == "__main__":
    main()
