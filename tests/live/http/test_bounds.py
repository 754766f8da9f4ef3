"""Requests over a limit get a 503, and other requests are served."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from support.clients.otlp import export_request
from support.services.hosted import run, run_events, start_hosted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.services.process import RunningService

JSON = {"Content-Type": "application/json"}


def test_more_waiting_ingest_bytes_than_allowed_are_503_with_retry_after(start: Callable[..., RunningService]) -> None:
    service = start("--ingest-buffer-bytes", "1000")
    response = service.http.post("/v1/traces", content=b" " * 1001, headers=JSON)
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    assert response.json()["message"] == "too many bytes of requests at once"
    for number in range(1, 4):
        small = service.http.post("/v1/traces", content=export_request(f"{number:032x}", "b" * 16), headers=JSON)
        assert small.status_code == 200


def test_a_crowd_of_searches_is_served_or_rejected(start: Callable[..., RunningService]) -> None:
    service = start("--search-threads", "1", "--search-queue-size", "1")
    for number in range(1, 200):
        service.http.post("/v1/traces", content=export_request(f"{number:032x}", "b" * 16), headers=JSON)
    with ThreadPoolExecutor(16) as crowd:
        responses = list(crowd.map(lambda _: service.search(limit=100), range(200)))
    assert {response.status_code for response in responses} <= {200, 503}
    assert all(response.headers["retry-after"] == "1" for response in responses if response.status_code == 503)
    assert all(response.json()["meta"]["total_count"] == 199 for response in responses if response.status_code == 200)
    assert service.search().status_code == 200


def test_a_search_past_its_deadline_is_503(start: Callable[..., RunningService]) -> None:
    service = start("--search-deadline-seconds", "0.0000001")
    response = service.search()
    assert (response.status_code, response.json()["error_code"]) == (503, "SERVICE_UNAVAILABLE")
    assert "the search took longer than 1e-07 s; narrow the time range" in response.json()["detail"]


def test_no_run_begins_while_events_fill_their_budget(tmp_path: Path) -> None:
    with start_hosted(tmp_path, "--event-buffer-bytes", "300") as service:  # room for the input of one run only
        form = {"message": "hello"}
        with service.http.stream("POST", "/agents/slow/runs", data=form) as slow:
            first = next(run_events(slow))
            rejected = run(service, "agents/echo")
            assert (rejected.status_code, rejected.headers["Retry-After"]) == (503, "1")
            assert rejected.json()["detail"] == "too many bytes of events at once"
            assert event_bytes(service) > 0
            assert service.http.get("/agents").status_code == 200
            service.http.post(f"/agents/slow/runs/{first['run_id']}/cancel").raise_for_status()
        until = time.monotonic() + 10
        while event_bytes(service) > 0:
            assert time.monotonic() < until
            time.sleep(0.02)
        assert run(service, "agents/echo").json()["status"] == "COMPLETED"
        assert service.stop() == 0


def event_bytes(service: RunningService) -> float:
    found = re.search(r"^spanwise_event_buffer_bytes (\S+)", service.http.get("/metrics").text, re.MULTILINE)
    assert found
    return float(found[1])
