"""Measures the effect of one caller's expensive searches and dry runs on another caller.

Run it by hand: `python benches/load/callers.py`. It prints the latencies of one caller's cheap searches and exports, at
rest and beside expensive requests of another caller. These are 4 and 40 concurrent searches, and 40 dry runs of
deletions. The expensive requests look for random phrases in documents, so hardly any result is cached.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise import TraceStore
from support.clients.otlp import export_request
from support.clients.tokens import as_caller, jwks_file
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = float(os.environ.get("BENCH_SECONDS", "20"))
TRACES = int(os.environ.get("BENCH_TRACES", "100000"))
PAUSE = 0.01
"""The pause between two cheap requests, in seconds."""
GOAL = 3.0

_TRACES_A_REQUEST = 200
_WORDS = tuple(
    f"{first}{second}" for first in ("alpha", "beta", "gamma", "delta") for second in ("ra", "ri", "ro", "ru")
)
_GREEDY = os.environ.setdefault("BENCH_GREEDY", as_caller("greedy", "traces:read", "traces:delete")["Authorization"])
"""The token of the caller with expensive requests. The process that sends them inherits it."""
_JSON = {"Content-Type": "application/json"}
_INDEXED_SECONDS = 600.0


class Latencies(NamedTuple):
    """Latencies in ms: the median, the p99, and their number."""

    p50: float
    p99: float
    count: int


def latencies(send: Callable[[], None]) -> Latencies:
    """Returns the latencies of a repeated request."""
    found = []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        begun = time.perf_counter()
        send()
        found.append((time.perf_counter() - begun) * 1000)
        time.sleep(PAUSE)
    found.sort()
    return Latencies(found[len(found) // 2], found[len(found) * 99 // 100], len(found))


class Modest:
    """A caller with cheap requests."""

    def __init__(self, port: int) -> None:
        """Connects to the service at a port."""
        self._connection = HTTPConnection("127.0.0.1", port, timeout=120)
        self._headers = _JSON | as_caller("modest", "traces:read", "traces:write")
        self._sent = TRACES

    def search(self) -> None:
        """Searches for the newest traces of one name."""
        self._post("/traces/search", b'{"filter": {"op": "EQ", "key": "name", "value": "question"}, "limit": 20}')

    def export(self) -> None:
        self._sent += 1
        self._post("/v1/traces", export_request(f"{self._sent:032x}", "a" * 16))

    def _post(self, path: str, body: bytes) -> None:
        self._connection.request("POST", path, body, self._headers)
        response = self._connection.getresponse()
        received = response.read()
        assert response.status == 200, received


def ask_greedily(port: int, path: str, headers: dict[str, str], number: int) -> None:
    """Sends one expensive request after the other until the process is ended. Rejected ones are repeated soon."""
    rng, connection = Random(number), HTTPConnection("127.0.0.1", port, timeout=120)
    while True:
        phrase = {"op": "CONTAINS", "key": "text", "value": " ".join(rng.sample(_WORDS, 4))}
        body = {"filter": phrase, "dry_run": True} if path.endswith("delete") else {"filter": phrase, "limit": 1}
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        received = response.read()
        assert response.status in {200, 503}, received
        sys.stdout.write(f"{response.status}\n")
        sys.stdout.flush()
        if response.status == 503:
            time.sleep(0.1)


@contextmanager
def greedy(port: int, path: str, requests: int) -> Iterator[list[str]]:
    """Sends `requests` concurrent expensive requests until the end of the block. Yields the response statuses."""
    arguments = [sys.executable, __file__, "greedy", str(port), path, str(requests)]
    statuses: list[str] = []
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        reader = threading.Thread(target=partial(statuses.extend, process.stdout))
        reader.start()
        try:
            time.sleep(2)
            yield statuses
        finally:
            process.kill()
            reader.join()


def be_greedy(port: int, path: str, requests: int) -> None:
    """Sends `requests` concurrent expensive requests until the process is ended."""
    headers = _JSON | {"Authorization": _GREEDY}
    for number in range(requests):
        threading.Thread(target=ask_greedily, args=(port, path, headers, number)).start()


def export_request_of_many(first: int) -> bytes:
    """Returns a request with traces whose texts have the same words in different orders."""
    now, request = time.time_ns(), ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for number in range(first, first + _TRACES_A_REQUEST):
        rng = Random(number)
        span = spans.add(trace_id=number.to_bytes(16), span_id=number.to_bytes(8), name="question")
        span.start_time_unix_nano, span.end_time_unix_nano = now + number, now + number + 1_000_000
        for key in ("input.value", "output.value"):
            words = [word for _ in range(4) for word in rng.sample(_WORDS, len(_WORDS))]
            span.attributes.add(key=key).value.string_value = " ".join(words)
    return request.SerializeToString()


def fill(data: Path) -> None:
    """Creates the store of a data folder, with all traces in segments."""
    data.mkdir()
    store = TraceStore.open(str(data / "traces"))
    for first in range(1, TRACES, _TRACES_A_REQUEST):
        store.ingest(export_request_of_many(first), "application/x-protobuf")
    store.flush()
    store.close()


def wait_until_indexed(service: RunningService) -> None:
    """Waits until all texts are indexed. Until then, searches that read documents have the lowest priority."""
    reader, end = as_caller("reader", "metrics:read"), time.monotonic() + _INDEXED_SECONDS
    while time.monotonic() < end:
        metrics = service.http.get("/metrics", headers=reader).raise_for_status().text
        waiting = dict(re.findall(r"^(spanwise_store_segments_without_\w+)\{.*\} (.+)$", metrics, re.MULTILINE))
        if waiting and not any(map(float, waiting.values())):
            return
        time.sleep(0.5)
    raise TimeoutError(waiting)


def main() -> None:
    if sys.argv[1:2] == ["greedy"]:
        _, _, port, path, requests = sys.argv
        be_greedy(int(port), path, int(requests))
        return
    say = partial(print, flush=True)
    say(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, {TRACES} traces, {SECONDS:g} s each")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        flags = ("--authorization", "--no-jwt-user-isolation")
        fill(path / "data")
        with RunningService(path / "data", *flags, JWT_JWKS_FILE=jwks_file(path)) as service:
            wait_until_indexed(service)
            modest = Modest(service.port)
            cases = (
                ("a search", modest.search, "/traces/search", (4, 40)),
                ("an export", modest.export, "/traces/delete", (40,)),
            )
            for what, send, target, loads in cases:
                rest = latencies(send)
                say(f"{what} at rest: median {rest.p50:.1f} ms, p99 {rest.p99:.1f} ms of {rest.count}")
                for requests in loads:
                    with greedy(service.port, target, requests) as statuses:
                        beside = latencies(send)
                    served = statuses.count("200\n")
                    say(
                        f"{what} beside {requests} at {target}: median {beside.p50:.1f} ms, p99 {beside.p99:.1f} ms of "
                        f"{beside.count}, ratios {beside.p50 / rest.p50:.1f} and {beside.p99 / rest.p99:.1f} "
                        f"(goal {GOAL:g}); {served} of {len(statuses)} responses were 200"
                    )
            assert service.stop() == 0


if __name__ == "__main__":
    main()
