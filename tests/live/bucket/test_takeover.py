"""Two services over one bucket: after a takeover, the first one acknowledges and returns no more data."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from support.clients.otlp import export_request
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import httpx

pytestmark = pytest.mark.usefixtures("reach")
JSON = {"Content-Type": "application/json"}
FIRST, SECOND = "1" * 32, "2" * 32
PATIENCE = 30.0


def export(service: RunningService, trace_id: str) -> httpx.Response:
    body = export_request(trace_id, "00000000000000a1", "00000000000000a2")
    return service.http.post("/v1/traces", content=body, headers=JSON)


@pytest.fixture
def open_service(tmp_path: Path, url: str) -> Iterator[Callable[[str], RunningService]]:
    """Starts a service with a cache of its own over the bucket."""
    opened: list[RunningService] = []

    def open_one(name: str) -> RunningService:
        flags = ("--data-dir", url, "--cache-dir", str(tmp_path / name / "cache"))
        opened.append(RunningService(tmp_path / name, *flags))
        return opened[-1]

    yield open_one
    for service in opened:
        service.http.close()
        service.kill()


def expect_refusal(response: httpx.Response) -> None:
    assert response.status_code == 503, response.text
    assert "another writer holds the store" in response.json()["detail"]
    assert "Retry-After" in response.headers


def expect_no_write(response: httpx.Response) -> None:
    assert response.status_code == 503, response.text
    assert response.json()["message"] == "the trace store rejects writes; nothing was stored"
    assert "Retry-After" in response.headers


def wait_until_it_stops(service: RunningService) -> None:
    deadline = time.monotonic() + PATIENCE
    while service.search().status_code == 200:
        assert time.monotonic() < deadline, "it still answers"
        time.sleep(0.05)


def test_a_replaced_service_is_not_ready_and_answers_nothing(open_service: Callable[[str], RunningService]) -> None:
    first = open_service("first")
    export(first, FIRST).raise_for_status()
    assert first.trace_ids() == [FIRST]
    second = open_service("second")
    export(second, SECOND).raise_for_status()
    wait_until_it_stops(first)
    expect_refusal(first.search())
    expect_refusal(first.http.get(f"/traces/{FIRST}"))
    expect_refusal(first.http.post("/traces/aggregate", json={"measures": [{"name": "traces", "op": "COUNT"}]}))
    counted = {"filter": {"op": "EXISTS", "key": "name"}, "dry_run": True}
    assert first.http.post("/traces/delete", json=counted).status_code == 503
    expect_no_write(export(first, SECOND))
    ready = first.http.get("/health?ready=true")
    assert ready.status_code == 503
    assert ready.json()["detail"].startswith("not ready: search and ingest: another writer holds the store")
    assert "spanwise_store_is_unsearchable{" in first.http.get("/metrics").text
    assert first.http.get("/health").status_code == 200
    assert sorted(second.trace_ids()) == [FIRST, SECOND]


def test_after_its_first_refused_write_a_replaced_service_answers_nothing(
    open_service: Callable[[str], RunningService],
) -> None:
    first = open_service("first")
    export(first, FIRST).raise_for_status()
    open_service("second")
    expect_no_write(export(first, SECOND))
    expect_refusal(first.search())


def test_a_service_that_slept_through_the_takeover_answers_nothing(
    open_service: Callable[[str], RunningService],
) -> None:
    first = open_service("first")
    export(first, FIRST).raise_for_status()
    os.kill(first.process.pid, signal.SIGSTOP)
    try:
        second = open_service("second")
        export(second, SECOND).raise_for_status()
        # Longer than a check of the claim stays valid.
        time.sleep(3)
    finally:
        os.kill(first.process.pid, signal.SIGCONT)
    # Even its first response follows a check after it woke.
    expect_refusal(first.search())
    expect_no_write(export(first, SECOND))


def test_the_tails_of_a_replaced_service_end(open_service: Callable[[str], RunningService]) -> None:
    first = open_service("first")
    body = {"filter": {"op": "EXISTS", "key": "trace_id"}}
    with first.http.stream("POST", "/traces/tail", json=body, timeout=PATIENCE) as tail:
        tail.raise_for_status()
        open_service("second")
        events = [line for line in tail.iter_lines() if line.startswith("event:")]
    assert events[-1] == "event: end"
