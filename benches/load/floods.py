"""Measures the effect of floods from unknown clients on a known caller.

Run it by hand: `python benches/load/floods.py`. The baseline sends the same number of `GET /health` per second over the
same number of connections. It prints the p99 of searches at rest, beside the baseline and beside the flood, and their
ratio. Some floods use a token of another caller.
"""

from __future__ import annotations

import asyncio
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

from frame_floods import FRAME_FLOODS, UPGRADE, send

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
"""A token of the service's key with a truncated signature. The processes that send it inherit it."""
HEALTH = "health"
"""The name of the baseline of every flood."""


class Flood(NamedTuple):
    """The requests of one kind of attacker.

    Attributes:
        rate: requests per second.
        path: their path.
        headers: their headers.
        connections: the number of persistent connections; 0 for a new connection per request.
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
    "sockets": Flood(RATE // 4, "/workflows/ws", UPGRADE),
}
"""The floods of `mix.py`."""

COSTLY_HEADS: dict[str, Flood] = {
    "Accept-Encoding of commas": Flood(50, "/traces", f"Accept-Encoding: {',' * 30_000}\r\n", 10),
    "Accept of commas": Flood(50, "/", f"Accept: {',' * 30_000}\r\n", 10),
    "If-None-Match of commas": Flood(50, "/docs", f"Accept-Encoding: gzip\r\nIf-None-Match: {',' * 30_000}\r\n", 10),
    "queries of 15,000 parameters": Flood(50, f"/health?{'a&' * 15_000}", "", 10),
    "queries of escapes": Flood(50, f"/health?{'%41' * 10_000}", "", 10),
    "99 lines": Flood(50, "/traces", "".join(f"Name-{number}: value\r\n" for number in range(97)), 10),
}
HTTP_FLOODS = {**FLOODS, **COSTLY_HEADS}
ALL_FLOODS = {**HTTP_FLOODS, **FRAME_FLOODS}


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


def same_rate(name: str) -> Flood:
    """Returns the baseline of a flood: the same number of requests for `/health`."""
    found = ALL_FLOODS[name]
    return Flood(found.rate, "/health", "" if found.connections else "Connection: close\r\n", found.connections)


async def flood(name: str, port: int, *, is_baseline: bool = False) -> None:
    """Sends a flood or its baseline at a fixed rate until the process is ended."""
    if name in FRAME_FLOODS and not is_baseline:
        await send(FRAME_FLOODS[name], port)
    rate, path, headers, connections = same_rate(name) if is_baseline else HTTP_FLOODS[name]
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


_SECONDS = re.compile(r"^spanwise_unknown_callers_processor_seconds_total (.+)$", re.MULTILINE)


def unknown_seconds(service: RunningService, known: dict[str, str]) -> float:
    """Returns the processor time spent on requests and frames of unknown callers so far."""
    metrics = service.http.get("/metrics", headers=known).raise_for_status().text
    return sum(map(float, _SECONDS.findall(metrics)))


def private_mebibytes(service: RunningService) -> float:
    """Returns the private memory of the service."""
    lines = Path(f"/proc/{service.process.pid}/smaps_rollup").read_text("ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def report(service: RunningService, known: dict[str, str], name: str, grpc_port: int) -> str:
    """Runs one flood and its baseline, and returns the line about it."""
    found = ALL_FLOODS[name]
    with running("flood", HEALTH, name, str(service.port)):
        beside_health = p99_of_searches(service, known)
    taken, memory = unknown_seconds(service, known), private_mebibytes(service)
    with running("flood", name, str(grpc_port if name in FRAME_FLOODS and found.is_grpc else service.port)):
        beside_flood = p99_of_searches(service, known)
    taken = unknown_seconds(service, known) - taken
    return (
        f"{name}: {found.rate} a second; p99 {beside_health:.1f} ms beside /health, {beside_flood:.1f} ms beside the "
        f"flood, ratio {beside_flood / beside_health:.1f} (goal {GOAL:g}); {100 * taken / SECONDS:.1f} % of a core for "
        f"unknown callers, memory {private_mebibytes(service) - memory:+.0f} MiB\n"
    )


def main() -> None:
    if sys.argv[1:2] == ["flood"]:
        *baseline, name, port = sys.argv[2:]
        asyncio.run(flood(name, int(port), is_baseline=baseline == [HEALTH]))
    log = sys.stdout.write
    log(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory() as folder:
        path, grpc_port = Path(folder), free_port()
        flags = ("--authorization", "--otlp-grpc-port", str(grpc_port))
        with RunningService(path / "data", *flags, JWT_JWKS_FILE=jwks_file(path)) as service:
            writer = {"Content-Type": "application/json", **as_caller("writer", "traces:write")}
            for number in range(1, TRACES + 1):
                export = export_request(f"{number:032x}", "b" * 16, **{"user.id": "alice"})
                service.http.post("/v1/traces", content=export, headers=writer).raise_for_status()
            os.environ["BENCH_AUTHORIZATION"] = as_caller("greedy", "workflows:run")["Authorization"]
            known = as_caller("alice", "traces:read", "metrics:read")
            log(
                f"at rest: p99 {p99_of_searches(service, known):.1f} ms, {private_mebibytes(service):.0f} MiB private\n"
            )
            for name in sys.argv[1:] or ALL_FLOODS:
                log(report(service, known, name, grpc_port))
            log(f"{len(service.log.read_text().splitlines())} lines in the log\n")
            assert service.stop() == 0


if __name__ == "__main__":
    main()
