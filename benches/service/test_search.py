"""The time of a page of 20 over HTTP, from a store with 20,000 traces."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import pytest

from spanwise import TraceStore
from spanwise.demo import CONTENT_TYPE, export_requests
from spanwise.demo.otlp_requests import write_trace
from spanwise.demo.schedule import schedule
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TRACES = 20_000
SEED = 7

NOVEMBER = {"op": "GTE", "key": "start_time", "value": "2026-11-01"}
FAILED = {"op": "EQ", "key": "status", "value": "ERROR"}
REQUESTS = {
    "all": {},
    "failed": {"filter": FAILED},
    "failed since": {"filter": {"op": "AND", "conditions": [FAILED, NOVEMBER]}},
    "name contains": {"filter": {"op": "CONTAINS", "key": "name", "value": "agent"}},
    "page 500": {"page": 500},
    "sessions": {"group_by": "session"},
    "sessions of failed": {"group_by": "session", "filter": FAILED},
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A server with `TRACES` generated traces, all of them in segments."""
    data_dir = tmp_path_factory.mktemp("search") / "data"
    data_dir.mkdir()
    store = TraceStore.open(str(data_dir / "traces"))
    for export in export_requests(TRACES, SEED, NOW):
        assert store.ingest(export.body, CONTENT_TYPE).rejected_spans == 0
    store.flush()
    store.close()
    with RunningService(data_dir) as running:
        yield running


@pytest.fixture
def connection(service: RunningService) -> Iterator[HTTPConnection]:
    """A persistent connection."""
    connection = HTTPConnection("127.0.0.1", service.port)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def totals() -> dict[str, int]:
    """The number of items that each request should find, according to the generator."""
    failed: list[tuple[bool, tuple[str | None, str | None]]] = []
    sessions: set[tuple[str | None, str | None]] = set()
    for trace in schedule(TRACES, SEED, NOW):
        spans = write_trace(trace).spans
        session_id, user_id = trace.identity.session_id, trace.identity.user_id
        # A session is identified by its id and owner, and some programs do not send the user.
        is_said = any(
            user_id == value or f'"{user_id}"' in str(value) for span in spans for value in span.attributes.values()
        )
        session = session_id, user_id if is_said else None
        sessions.add(session)
        if any(span.status == 2 for span in spans):
            start = spans[-1].start / 1e9
            failed.append((start >= NOW.replace(day=1, hour=0).timestamp(), session))
    return {
        "all": TRACES,
        "page 500": TRACES,
        "failed": len(failed),
        "failed since": sum(since for since, _ in failed),
        "sessions": len(sessions),
        "sessions of failed": len({session for _, session in failed}),
    }


def post(connection: HTTPConnection, body: bytes) -> bytes:
    connection.request("POST", "/traces/search", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    assert response.status == 200, text
    return text


@pytest.mark.parametrize("name", REQUESTS)
def test_page(name: str, connection: HTTPConnection, totals: dict[str, int], benchmark: BenchmarkFixture) -> None:
    body = json.dumps({**REQUESTS[name], "limit": 20}).encode()
    response = post(connection, body)
    page = json.loads(response)
    assert len(page["data"]) == 20
    if name in totals:
        assert page["meta"]["total_count"] == totals[name]
    else:
        assert all("agent" in item["name"].lower() for item in page["data"])
        assert 0 < page["meta"]["total_count"] < TRACES
    benchmark.extra_info |= {"bytes": len(response), "total_count": page["meta"]["total_count"]}
    benchmark.group = "page of 20 over HTTP"
    benchmark(post, connection, body)
