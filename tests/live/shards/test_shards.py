"""A service over a sharded store gives the same responses as one over a single store."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import captures, export_request
from support.clients.tail import tail
from support.services.cluster import CLUSTER, needs_ray
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

JSON = {"Content-Type": "application/json"}
ERRORS = {"op": "EQ", "key": "status", "value": "ERROR"}
TOOL = {"op": "EQ", "key": "type", "value": "TOOL"}
ASKED: list[tuple[str, dict[str, Any]]] = [
    ("/traces/search", {"limit": 20}),
    ("/traces/search", {"limit": 7, "page": 4, "detail": "full", "sort": [{"key": "duration_ms"}]}),
    ("/traces/search", {"filter": {"op": "CONTAINS", "key": "input", "value": "weather"}, "total": "at_least"}),
    ("/traces/search", {"filter": {"op": "SPAN", "where": TOOL}, "matches": True}),
    ("/traces/search", {"filter": ERRORS, "group_by": "session"}),
    ("/traces/search", {"filter": {"op": "EQ", "key": "nothing", "value": 1}}),
    ("/spans/search", {"where": TOOL, "limit": 9, "page": 2}),
    ("/spans/search", {"where": TOOL, "matches": True}),
    (
        "/traces/aggregate",
        {
            "by": [{"key": "agent_id", "limit": 3}],
            "time": {"buckets": 4},
            "measures": [
                {"name": "traces", "op": "COUNT"},
                {"name": "users", "op": "COUNT_DISTINCT", "key": "user_id"},
                {"name": "p90", "op": "QUANTILE", "key": "duration_ms", "q": 0.9},
                {"name": "cost", "op": "SUM", "key": "cost"},
            ],
        },
    ),
    ("/traces/aggregate", {"by": [{"key": "model", "limit": 4}], "measures": [{"name": "calls", "op": "COUNT"}]}),
    ("/traces/facets", {"fields": ["status", "agent_id", "user_id"], "limit": 5}),
    ("/traces/delete", {"filter": ERRORS, "dry_run": True}),
]


@pytest.fixture(scope="module", params=["threads", pytest.param("processes", marks=needs_ray)])
def services(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningService, RunningService]]:
    """Returns a service with one store, and one with three shards, in its own process or in separate ones."""
    folder = tmp_path_factory.mktemp("shards")
    flags = ("--shards", "3") if request.param == "threads" else CLUSTER
    with RunningService(folder / "one") as one, RunningService(folder / "many", *flags) as many:
        for capture in captures():
            headers = {"Content-Type": capture.content_type} | (
                {"Content-Encoding": capture.content_encoding} if capture.content_encoding else {}
            )
            for service in (one, many):
                service.http.post("/v1/traces", content=capture.body, headers=headers).raise_for_status()
        yield one, many


def same(response: httpx.Response) -> tuple[int, str]:
    """Returns a response without the times of receipt and the duration of the search."""
    return response.status_code, re.sub(r'"created_at":"[^"]*"|"search_time_ms":[0-9.]+', "", response.text)


@pytest.mark.parametrize(("path", "body"), ASKED)
def test_bodies_are_those_of_one_store(
    services: tuple[RunningService, RunningService], path: str, body: dict[str, Any]
) -> None:
    expected, found = (service.http.post(path, json=body) for service in services)
    assert same(found) == same(expected)


def test_what_is_read_of_one_trace_is_that_of_one_store(services: tuple[RunningService, RunningService]) -> None:
    ids = services[0].trace_ids()
    assert len(ids) > 50
    assert services[1].trace_ids() == ids
    for path in [
        *(f"/traces/{trace_id}" for trace_id in ids[::9]),
        "/traces/" + "f" * 32,
        "/traces",
        "/traces/attributes",
    ]:
        expected, found = (service.http.get(path) for service in services)
        assert same(found) == same(expected)


@pytest.mark.parametrize("form", ["ndjson", "otlp", "parquet", "arrow"])
def test_every_trace_is_exported(services: tuple[RunningService, RunningService], form: str) -> None:
    expected, found = (service.http.get("/traces/export", params={"format": form}) for service in services)
    assert found.status_code == expected.status_code == 200
    if form == "ndjson":
        assert len(found.content.splitlines()) == len(expected.content.splitlines())


def test_what_comes_in_is_tailed_and_there_after_a_kill(tmp_path: Path) -> None:
    ids = [f"{number:032x}" for number in range(1, 30)]
    with RunningService(tmp_path / "data", "--shards", "4") as service:
        with tail(service) as reader:
            for trace_id in ids:
                service.http.post("/v1/traces", content=export_request(trace_id, "0" * 15 + "1"), headers=JSON)
            shown = {reader.trace()["trace_id"] for _ in ids}
        assert shown == set(ids)
        service.kill()
    # The store keeps its shards even without the setting.
    with RunningService(tmp_path / "data") as again:
        assert sorted(again.trace_ids()) == ids
        assert again.http.post("/traces/delete", json={"filter": {}}).json() == {"deleted": 29}
        assert again.trace_ids() == []


def test_a_reader_follows_every_shard(tmp_path: Path) -> None:
    ids = [f"{number:032x}" for number in range(1, 20)]
    with RunningService(tmp_path / "data", "--shards", "2") as writer:
        for trace_id in ids:
            writer.http.post("/v1/traces", content=export_request(trace_id, "0" * 15 + "1"), headers=JSON)
        reader = RunningService(tmp_path / "reader", "--reader", "--data-dir", str(tmp_path / "data"))
        with reader:
            response = reader.search(limit=100)
            assert response.json()["meta"]["total_count"] == len(ids)
            assert "spanwise-as-of" in response.headers
