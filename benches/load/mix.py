"""Runs all hostile clients at once against a service with 1 GiB, and checks that known callers are served.

Run it by hand: `python benches/load/mix.py --minutes 10`. Only root can limit the memory. Known callers send 2,000
requests a minute: searches, exports and OTLP requests. It prints the number of rejected requests with the reasons, the
memory, and whether the service was killed. It then restarts the service after a SIGKILL and counts the lost traces
among the acknowledged ones.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import floods
import hostile
from cgroup import MEBIBYTE, MemoryCgroup, resource_usage

from support.clients.otlp import export_request
from support.clients.tokens import as_admin, jwks_file
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT = int(os.environ.get("BENCH_MEMORY", "1024")) * MEBIBYTE
RATE = os.environ.get("BENCH_RATE", "250")
"""The rate of `floods.py`: forged tokens per second, with all others in proportion."""
REQUESTS_PER_MINUTE = 2000
KNOWN = 8
"""The number of known callers."""
CONNECTIONS = 48
"""The total number of their connections."""
FLOODS = (
    "forged tokens",
    "forged tokens over kept connections",
    "heads of 30 KB",
    "heads of 60 KB",
    "pages",
    "sockets",
)
RESTART_ATTEMPTS = 10
"""The number of half minutes to wait for a restarted service on a busy machine."""
QUESTIONS: list[object] = [
    {"op": "EQ", "key": "session_id", "value": "mix"},
    {"op": "CONTAINS", "key": "input", "value": "my refund"},
    {"op": "SPAN", "where": {"op": "CONTAINS", "key": "name", "value": "span"}},
    {"op": "SPAN", "where": {"op": "EQ", "key": "attributes.user.id", "value": "known 1"}},
]
_JSON = {"Content-Type": "application/json"}


class KnownCallers:
    """Callers that send requests at a fixed rate.

    Attributes:
        responses: the number of responses by request kind, status and reason of rejection.
        latencies: the durations of successful requests, in ms.
        acknowledged: the ids of the acknowledged traces.
        unsent: the number of requests not sent in time, because earlier ones took too long.
    """

    def __init__(self, port: int, has_ended: Callable[[], bool]) -> None:
        """Makes the callers known to the service on a port. `has_ended` is checked before each request."""
        self.has_ended = has_ended
        self.responses: Counter[str] = Counter()
        self.latencies: list[float] = []
        self.acknowledged: list[str] = []
        self.unsent = 0
        self._port = port
        scopes = ("traces:read", "traces:write")
        self._headers = [{**_JSON, **hostile.long_token(f"known {number}", *scopes)} for number in range(KNOWN)]
        for number in range(KNOWN):
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            for request in range(4):
                self._send(connection, number, request)
            connection.close()

    def run(self, seconds: float) -> None:
        """Sends requests for a number of seconds."""
        begun = time.monotonic()
        threads = [threading.Thread(target=self._run, args=(number, begun, seconds)) for number in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _run(self, number: int, begun: float, seconds: float) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        for request in range(number, int(seconds / 60 * REQUESTS_PER_MINUTE), CONNECTIONS):
            time.sleep(max(0.0, begun + request * 60 / REQUESTS_PER_MINUTE - time.monotonic()))
            if time.monotonic() > begun + seconds or self.has_ended():
                self.unsent += 1
            else:
                self._send(connection, number % KNOWN, request // CONNECTIONS)
        connection.close()

    def _send(self, connection: HTTPConnection, number: int, request: int) -> None:
        """Sends a search, a filtered search, an OTLP request, or every twentieth time an export."""
        method, path, body, trace_id = "POST", "/traces/search", '{"limit":20}', ""
        if request % 20 == 3:
            method, path, body = "GET", "/traces/export?format=ndjson", ""
        elif request % 4 == 0:
            trace_id = os.urandom(16).hex()
            names = {"user.id": f"known {number}", "session.id": "mix", "input.value": f"where is my refund {request}?"}
            path, body = "/v1/traces", export_request(trace_id, "b" * 16, **names).decode()
        elif request % 4 == 2:
            body = json.dumps({"filter": QUESTIONS[request // 4 % len(QUESTIONS)], "limit": 20})
        begun = time.perf_counter()
        try:
            connection.request(method, path, body or None, self._headers[number])
            response = connection.getresponse()
            received = response.read()
        except (OSError, HTTPException) as error:
            self.responses[f"{method} {path}: {type(error).__name__}"] += 1
            connection.close()
            return
        why = "" if response.status == 200 else f" {received[:200].decode(errors='replace')}"
        self.responses[f"{method} {path}: {response.status}{why}"] += 1
        if response.status == 200:
            self.latencies.append((time.perf_counter() - begun) * 1000)
            if trace_id:
                self.acknowledged.append(trace_id)


def serve(folder: Path, *flags: str, is_ready: bool) -> RunningService:
    """Returns a service that hosts components, either starting or ready."""
    path = os.pathsep.join(filter(None, [sys.path[0], os.environ.get("PYTHONPATH", "")]))
    variables = {"PYTHONPATH": path, "JWT_JWKS_FILE": jwks_file(folder)}
    flags = ("--authorization", "--min-free-bytes", "0", "--log-level", "warning", *flags)
    return RunningService(folder / "data", "support.apps.components:service", *flags, is_ready=is_ready, **variables)


def attack(port: int, seconds: float, greedy: dict[str, str], running: ExitStack) -> None:
    """Starts all hostile clients, which end with the block."""
    for name in FLOODS:
        command = ["nice", "-n", str(hostile.NICENESS), sys.executable, floods.__file__, "flood", name, str(port)]
        process = subprocess.Popen(command, env={**os.environ, "BENCH_RATE": RATE})
        running.callback(process.wait)
        running.callback(process.kill)
    context = multiprocessing.get_context("spawn")
    for case in hostile.CASES:
        arguments = (case, port, time.monotonic() + seconds, greedy)
        client = context.Process(target=hostile.run, args=arguments, daemon=True)
        client.start()
        running.callback(client.join)
        running.callback(client.kill)


def watch(service: RunningService, private: list[int], has_ended: threading.Event) -> None:
    """Records the private memory of the service every half second."""
    while not has_ended.wait(0.5):
        if service.process.poll() is not None:
            return
        with suppress(FileNotFoundError, KeyError):  # the process is ending
            private.append(resource_usage(service.process.pid).private)


def stored_ids(folder: Path) -> set[str]:
    """Returns the ids of all traces of the known callers, from a restarted service."""
    with serve(folder, is_ready=False) as service:
        for _ in range(RESTART_ATTEMPTS):
            with suppress(TimeoutError):
                service.wait_until_ready()
                break
        return set(_pages(service))


def _pages(service: RunningService) -> Iterator[str]:
    page = pages = 1
    while page <= pages:
        body = {"filter": {"op": "EQ", "key": "session_id", "value": "mix"}, "page": page, "limit": 100}
        found = service.http.post("/traces/search", json=body, headers=as_admin()).raise_for_status().json()
        yield from (item["trace_id"] for item in found["data"])
        pages = found["meta"]["total_pages"]
        page += 1


def report(known: KnownCallers, private: list[int]) -> str:
    """Returns the responses to the known callers, and the memory, as text."""
    latencies = sorted(known.latencies)
    served = sum(count for response, count in known.responses.items() if response.endswith(": 200"))
    total = known.responses.total()
    p99 = latencies[len(latencies) * 99 // 100]
    rest, usual, peak = (each / MEBIBYTE for each in (private[0], median(private), max(private)))
    lines = [
        f"{total} requests of known callers, {total - served} not served, {known.unsent} not sent for lack of time:",
        *(f"  {count:6} {response}" for response, count in sorted(known.responses.items())),
        f"median {median(latencies):.0f} ms, p99 {p99:.0f} ms, longest {latencies[-1]:.0f} ms",
        f"private memory: at rest {rest:.0f} MiB, median {usual:.0f} MiB, peak {peak:.0f} MiB",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    seconds = parser.parse_args().minutes * 60
    log = sys.stdout.write
    log(f"{seconds:g} s, {LIMIT // MEBIBYTE} MiB; load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as name, ExitStack() as opened:
        folder = Path(name)
        group = None
        try:
            group = opened.enter_context(MemoryCgroup(LIMIT))
        except OSError as error:
            log(f"not limited: {error}\n")
        service = opened.enter_context(serve(folder, is_ready=False))
        if group:
            group.add(service.process.pid)
        service.wait_until_ready()
        greedy = hostile.as_greedy()
        hostile.fill(service.port, greedy)
        known = KnownCallers(service.port, lambda: service.process.poll() is not None)
        private = [resource_usage(service.process.pid).private]
        has_ended = threading.Event()
        watching = threading.Thread(target=watch, args=(service, private, has_ended))
        watching.start()
        with ExitStack() as running:
            attack(service.port, seconds, greedy, running)
            known.run(seconds)
        has_ended.set()
        watching.join()
        log(report(known, private) + "\n")
        code = service.process.poll()
        log("the service is alive\n" if code is None else f"the service ended with {code}\n")
        service.kill()
        if group:
            peak = f"{group.peak / MEBIBYTE:.0f} MiB with page cache"
            log(f"control group: peak {peak}, limit reached {group.limit_hits} times, {group.kills} kills\n")
        stored = stored_ids(folder)
        lost = [each for each in known.acknowledged if each not in stored]
        log(f"{len(known.acknowledged)} traces acknowledged, {len(lost)} lost after SIGKILL and a restart\n")
    log(f"load average {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    main()
