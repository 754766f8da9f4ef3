"""What do floods of clients that nobody knows do to a caller that is known?

Run it by hand: `python benches/load/floods.py`. Each flood is aimed at the service, and for comparison at a port of
another process on the same cores that accepts connections and does nothing else, so that what the flood itself takes of
the processors counts on both sides. It prints the p99 of searches at rest, beside the idle port and under the flood.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

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

_FORGED = os.environ.setdefault("BENCH_FORGED", as_caller("mallory", "agent_os:admin")["Authorization"][:-8])
"""A token of the service's key without the end of its signature. The processes that send it inherit it."""
_KEY = base64.b64encode(bytes(16)).decode()
_UPGRADE = f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {_KEY}\r\n"


class Flood(NamedTuple):
    """Requests that one kind of attacker sends.

    Attributes:
        rate: how many a second.
        path: their path.
        headers: their headers.
        connections: how many connections send them, again and again; 0 if each has a connection of its own.
    """

    rate: int
    path: str
    headers: str
    connections: int = 0


FLOODS: dict[str, Flood] = {
    "forged tokens": Flood(RATE, "/traces", f"Authorization: {_FORGED}AAAAAAAA\r\nConnection: close\r\n"),
    "forged tokens over kept connections": Flood(5 * RATE, "/traces", f"Authorization: {_FORGED}AAAAAAAA\r\n", 256),
    "heads of 30 KB": Flood(RATE, "/traces", f"Authorization: Bearer {'x' * 30_000}\r\nConnection: close\r\n"),
    "heads of 60 KB": Flood(RATE, "/traces", f"Authorization: Bearer {'x' * 60_000}\r\nConnection: close\r\n"),
    "heads of 100 KB": Flood(RATE // 2, "/traces", f"Authorization: Bearer {'x' * 100_000}\r\nConnection: close\r\n"),
    "pages": Flood(RATE // 4, "/docs", "Accept-Encoding: gzip\r\nConnection: close\r\n"),
    "sockets": Flood(RATE // 4, "/workflows/ws", _UPGRADE),
}


async def _connect_once(port: int, request: bytes) -> None:
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(5):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            await reader.read(65536)
            writer.transport.abort()


async def _connect_again_and_again(port: int, request: bytes, pause: float) -> None:
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                while True:
                    writer.write(request)
                    if not await reader.read(65536):
                        break
                    await asyncio.sleep(pause)
            finally:
                writer.transport.abort()
        await asyncio.sleep(pause)


async def flood(name: str, port: int) -> None:
    """Sends requests at a fixed rate until the process is ended."""
    rate, path, headers, connections = FLOODS[name]
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode()
    if connections:
        await asyncio.gather(*(_connect_again_and_again(port, request, connections / rate) for _ in range(connections)))
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


def p99_of_searches(service: RunningService, known: dict[str, str]) -> float:
    """Returns the p99 of the searches of one known caller, in ms."""
    headers = {"Content-Type": "application/json", **known}
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


_ANSWERED = re.compile(
    r"^spanwise_(?:unknown_callers_rejected_total|http_requests_total\{.*(?:/docs|WS|401).*\}) (.+)$", re.MULTILINE
)


def responses(service: RunningService, known: dict[str, str]) -> float:
    """Returns how many requests of unknown callers got a response of the service, not of its HTTP server, so far."""
    metrics = service.http.get("/metrics", headers=known).raise_for_status().text
    return sum(map(float, _ANSWERED.findall(metrics)))


def private_mebibytes(service: RunningService) -> float:
    """Returns the private memory of the service."""
    lines = Path(f"/proc/{service.process.pid}/smaps_rollup").read_text("ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def main() -> None:
    """Prints the figures."""
    if sys.argv[1:] and sys.argv[1] in {"flood", "idle"}:
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
            known = as_caller("alice", "traces:read", "metrics:read")
            rest, memory = p99_of_searches(service, known), private_mebibytes(service)
            log(f"at rest: p99 {rest:.1f} ms, {memory:.0f} MiB private\n")
            for name in sys.argv[1:] or FLOODS:
                port = free_port()
                with running("idle", str(port)), running("flood", name, str(port)):
                    beside = p99_of_searches(service, known)
                answered = responses(service, known)
                with running("flood", name, str(service.port)):
                    under = p99_of_searches(service, known)
                answered = responses(service, known) - answered
                grown = private_mebibytes(service) - memory
                log(
                    f"{name}: {FLOODS[name].rate} a second; p99 {beside:.1f} ms beside an idle port, {under:.1f} ms "
                    f"under the flood, ratio {under / beside:.1f} (goal {GOAL:g}), memory {grown:+.0f} MiB; "
                    f"{answered / SECONDS:.0f} a second were answered\n"
                )
            log(f"{len(service.log.read_text().splitlines())} lines in the log\n")
            assert service.stop() == 0


if __name__ == "__main__":
    main()
