"""Lists agree with searches: each parameter is a condition, and all are joined by AND."""

from __future__ import annotations

import asyncio
import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest

from spanwise import ConfigurationError, Service
from support.clients.otlp import captures, export_request
from support.in_process.client import client_of
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JSON = {"Content-Type": "application/json"}
NOT_LISTED = {"output", "error", "tree", "cost", "cost_partial"}
MATCHED = ["run_id", "session_id", "user_id", "agent_id", "team_id", "workflow_id", "status"]


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("listed") / "data") as service:
        for capture in captures():
            capture.send(service.http).raise_for_status()
        yield service


def listed(service: RunningService, path: str, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    page = pages = 1
    while page <= pages:
        response = service.http.get(path, params={**query, "page": page, "limit": 100}).raise_for_status().json()
        assert response["meta"]["limit"] == 100
        found += response["data"]
        page, pages = page + 1, response["meta"]["total_pages"]
        assert response["meta"]["total_count"] >= len(found)
    return found


def test_a_listed_trace_is_the_found_one_without_its_bulk(captured: RunningService) -> None:
    found = [{key: item[key] for key in item.keys() - NOT_LISTED} for item in captured.items()]
    assert listed(captured, "/traces") == found
    assert len(found) > 100


@pytest.mark.parametrize("field", MATCHED)
def test_a_parameter_is_an_exact_match(captured: RunningService, field: str) -> None:
    everything = captured.items()
    for value in sorted({item[field] for item in everything if field in item})[:10]:
        expected = [item["trace_id"] for item in everything if item.get(field) == value]
        assert [item["trace_id"] for item in listed(captured, "/traces", **{field: value})] == expected
        assert expected


def test_what_nobody_has_is_an_empty_page(captured: RunningService) -> None:
    for field in MATCHED[:-1]:
        for value in ("nobody", "", "null", "%", "' OR 1=1--"):
            assert listed(captured, "/traces", **{field: value}) == []


def test_parameters_are_and_ed(captured: RunningService) -> None:
    everything = captured.items()
    users = {item["user_id"] for item in everything if "user_id" in item}
    for user in sorted(users):
        expected = [i["trace_id"] for i in everything if i.get("user_id") == user and i["status"] == "ERROR"]
        assert [i["trace_id"] for i in listed(captured, "/traces", user_id=user, status="error")] == expected


def test_the_bounds_of_traces_are_their_start_and_their_end(captured: RunningService) -> None:
    everything = captured.items()
    middle = everything[len(everything) // 2]
    later = [item["trace_id"] for item in everything if item["start_time"] >= middle["start_time"]]
    assert [item["trace_id"] for item in listed(captured, "/traces", start_time=middle["start_time"])] == later
    ended = {item["trace_id"] for item in everything if item["end_time"] <= middle["end_time"]}
    assert {item["trace_id"] for item in listed(captured, "/traces", end_time=middle["end_time"])} == ended
    assert 0 < len(ended) < len(everything)


def test_sessions_are_those_of_the_search(captured: RunningService) -> None:
    assert listed(captured, "/trace_session_stats") == captured.items(group_by="session")
    middle = sorted(item["start_time"] for item in captured.items())[100]
    for query, op in (({"start_time": middle}, "GTE"), ({"end_time": middle}, "LTE")):
        expected = captured.items(group_by="session", filter={"op": op, "key": "start_time", "value": middle})
        assert listed(captured, "/trace_session_stats", **query) == expected
        assert expected
    agent = {"op": "EQ", "key": "agent_id", "value": "weather-agent"}
    expected = captured.items(group_by="session", filter=agent)
    assert listed(captured, "/trace_session_stats", agent_id="weather-agent") == expected
    assert expected


def test_unknown_parameters_are_ignored_where_agnos_clients_ask_and_logged_once(captured: RunningService) -> None:
    plain = captured.http.get("/traces").json()["data"]
    for _ in range(2):
        assert captured.http.get("/traces?is_admin=true&tenant=x&table=agno_traces").json()["data"] == plain
    said = [event["message"] for event in captured.events() if "query parameter" in event["message"]]
    assert said == [
        f"the query parameter `{name}` of /traces is unknown and ignored (logged once)"
        for name in ("is_admin", "tenant")
    ]


def test_unknown_parameters_of_our_own_routes_are_rejected(captured: RunningService) -> None:
    for method, path, expected in (
        ("GET", "/traces/attributes?tenant=x", "`db_id`, `filter`, `limit`, `prefix`"),
        ("GET", "/settings?tenant=x", "none"),
        ("POST", "/traces/facets?db=x&tenant=x", "`db_id`"),
    ):
        rejected = captured.http.request(method, path, json={} if method == "POST" else None)
        assert rejected.status_code == 422
        name = "db" if "db=" in path else "tenant"
        assert rejected.json() == {
            "detail": f"Unknown parameter, expected {expected} - at `{name}`",
            "error_code": "VALIDATION_ERROR",
        }


def test_the_public_pages_say_who_answers_and_not_what_is_there(captured: RunningService) -> None:
    assert captured.http.get("/").json() == {
        "name": "Spanwise",
        "id": "spanwise",
        "version": "2.7.2",
        "spanwise_version": version("spanwise"),
    }
    assert captured.http.get("/info").json() == {
        "os_id": "spanwise",
        "name": "Spanwise",
        "agno_version": "2.7.2",
        "agent_count": 0,
        "team_count": 0,
        "workflow_count": 0,
        "mcp": {"enabled": False, "path": None, "oauth": None},
        "auth_mode": "none",
        "callers": "open",
        "authenticated": True,
        "capabilities": ["search", "ingest", "delete", "runs"],
    }


def samples(service: RunningService) -> dict[str, float]:
    response = service.http.get("/metrics").raise_for_status()
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    pairs = (line.rsplit(" ", 1) for line in response.text.splitlines() if not line.startswith("#"))
    return {name: float(number) for name, number in pairs}


def test_the_metrics_count_what_was_done(captured: RunningService) -> None:
    before = samples(captured)
    captured.http.post("/v1/traces", content=export_request("ab" * 16, "b" * 16, "c" * 16), headers=JSON)
    captured.search()
    captured.search(page=0)
    captured.http.request("BREW", "/nope")
    after = samples(captured)
    grown = {name: after[name] - before.get(name, 0) for name in after}
    route = 'method="POST",route="/traces/search"'
    assert grown['spanwise_ingest_spans_total{outcome="accepted"}'] == 2
    assert grown[f'spanwise_http_requests_total{{{route},status="200"}}'] == 1
    assert grown[f'spanwise_http_requests_total{{{route},status="422"}}'] == 1
    assert grown[f"spanwise_http_request_duration_seconds_count{{{route}}}"] == 2
    assert grown['spanwise_errors_total{error_code="VALIDATION_ERROR"}'] == 1
    assert grown['spanwise_http_requests_total{method="other",route="none",status="404"}'] == 1
    assert grown['spanwise_search_duration_seconds_count{phase="engine"}'] == 1
    assert grown['spanwise_store_traces{db_id="default"}'] == 1
    assert after['spanwise_store_is_writable{db_id="default"}'] == 1
    assert after['spanwise_pool_tasks{pool="search"}'] == 0
    assert not any(word in json.dumps(list(after)) for word in ("BREW", "nope"))


def test_several_stores_are_told_apart_by_db_id(tmp_path: Path) -> None:
    async def scenario() -> None:
        service = Service(
            traces={"ours": tmp_path / "ours", "theirs": str(tmp_path / "theirs")},
            callers="open",
        )
        await service.open()
        async with client_of(service) as client:
            for db_id, trace_id in (("ours", "a" * 32), ("theirs", "b" * 32)):
                body = export_request(trace_id, "c" * 16)
                sent = await client.post("/v1/traces", params={"db_id": db_id}, content=body, headers=JSON)
                assert sent.status_code == 200
            unknown = await client.post("/v1/traces", params={"db_id": "x"}, content=body, headers=JSON)
            assert (unknown.status_code, unknown.json()["message"]) == (404, "No database found with id 'x'")
            for query, expected in (
                ({}, "a"),
                ({"db_id": ""}, "a"),
                ({"db_id": "ours"}, "a"),
                ({"db_id": "theirs"}, "b"),
            ):
                for response in (
                    await client.get("/traces", params=query),
                    await client.post("/traces/search", json={}, params=query),
                ):
                    assert [item["trace_id"] for item in response.json()["data"]] == [expected * 32]
            assert (await client.get("/traces/" + "b" * 32)).status_code == 404
            assert (await client.get("/traces/" + "b" * 32, params={"db_id": "theirs"})).status_code == 200
            assert 'spanwise_store_traces{db_id="theirs"} 1' in (await client.get("/metrics")).text
        await service.close()

    asyncio.run(scenario())


def test_no_store_is_no_service() -> None:
    for sources in ({}, {"": "x"}):
        with pytest.raises(ConfigurationError, match="one or more trace stores, each with an id"):
            _ = Service(traces=sources).app
