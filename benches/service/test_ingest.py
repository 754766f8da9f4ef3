"""Durable spans per second over HTTP, from one client and from eight."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import count
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest

from spanwise.demo import CONTENT_TYPE, export_requests
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ROUNDS = 5
TRACES = 800
"""Traces per round: about 7,000 spans in 35 requests."""


@pytest.fixture
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A server with an empty store."""
    with RunningService(tmp_path_factory.mktemp("ingest") / "data") as running:
        yield running


class Clients:
    """Clients with a persistent connection each."""

    def __init__(self, port: int, clients: int) -> None:
        self.threads = ThreadPoolExecutor(clients)
        self.connections = [HTTPConnection("127.0.0.1", port) for _ in range(clients)]
        self.free: SimpleQueue[HTTPConnection] = SimpleQueue()
        for connection in self.connections:
            self.free.put(connection)

    def send(self, bodies: list[bytes]) -> None:
        """Sends all bodies, and returns when all of them are acknowledged."""
        for response in self.threads.map(self._post, bodies):
            assert response == {}, response

    def close(self) -> None:
        self.threads.shutdown()
        for connection in self.connections:
            connection.close()

    def _post(self, body: bytes) -> dict[str, object]:
        connection = self.free.get()
        connection.request("POST", "/v1/traces", body, {"Content-Type": CONTENT_TYPE})
        response = connection.getresponse()
        text = response.read()
        self.free.put(connection)
        assert response.status == 200, text
        decoded: dict[str, object] = json.loads(text)
        return decoded


@pytest.mark.parametrize("clients", [1, 8])
def test_ingest(clients: int, receiver: RunningService, benchmark: BenchmarkFixture) -> None:
    seeds = count(1)
    spans: list[int] = []

    def draw() -> tuple[tuple[list[bytes]], dict[str, object]]:
        """Returns new traces for each round, because known ones are cheaper."""
        sent = list(export_requests(TRACES, next(seeds), NOW))
        spans.append(sum(export.spans for export in sent))
        return ([export.body for export in sent],), {}

    benchmark.group = "ingest over HTTP"
    with closing(Clients(receiver.port, clients)) as senders:
        benchmark.pedantic(senders.send, setup=draw, rounds=ROUNDS, warmup_rounds=1)
    assert receiver.search(limit=1).json()["meta"]["total_count"] == TRACES * len(spans)
    timed = spans[-ROUNDS:]
    benchmark.extra_info["spans"] = sum(timed) / len(timed)
    if benchmark.stats:
        benchmark.extra_info["spans_per_second"] = round(sum(timed) / benchmark.stats.stats.total)
