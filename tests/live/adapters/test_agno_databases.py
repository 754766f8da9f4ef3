"""The ids of agno's databases: every id in a description is accepted wherever a request takes one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from support.services.hosted import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from support.services.process import RunningService

THEIRS = "theirs"
"""The id of the database of `support.apps.agno_objects`."""

BODIES: dict[str, dict[str, Any]] = {
    "/traces/search": {"filter": {"op": "EQ", "key": "session_id", "value": "named"}},
    "/traces/aggregate": {"measures": [{"name": "n", "op": "COUNT"}]},
    "/traces/facets": {"fields": ["name"]},
    "/spans/search": {},
    "/traces/delete": {"filter": {"op": "EQ", "key": "session_id", "value": "none"}},
    "/v1/traces": {"resourceSpans": []},
    "/api/public/otel/v1/traces": {"resourceSpans": []},
    "/v1/logs": {"resourceLogs": []},
    "/v1/metrics": {"resourceMetrics": []},
    "/sessions": {"session_id": "made-there", "agent_id": "keeper"},
    "/sessions/{session_id}/rename": {"session_name": "Named"},
    "/sessions/{session_id}": {"metadata": {"a": 1}},
}


@pytest.fixture(scope="module")
def result(adapted: RunningService) -> dict[str, Any]:
    found: dict[str, Any] = run(adapted, "agents/keeper", "weather", session_id="named", user_id="nan").json()
    return found


def requests(service: RunningService, result: dict[str, Any], db_id: str) -> Iterator[tuple[str, httpx.Response]]:
    """Sends one request to every route that takes a `db_id`."""
    paths = service.http.get("/openapi.json").json()["paths"]
    for path, operations in paths.items():
        for method, operation in sorted(operations.items(), reverse=True):
            names = {each["name"] for each in operation.get("parameters", ())}
            if "db_id" not in names or (method, path) in {("delete", "/sessions"), ("post", "/traces/tail")}:
                continue  # a tail never ends
            session_id = "made-there" if method == "delete" else "named"
            url = path.format(trace_id=result["metadata"]["trace_id"], session_id=session_id, run_id=result["run_id"])
            body = json.dumps(BODIES[path]).encode() if method in {"post", "patch"} else None
            headers = {"Content-Type": "application/json"} if body else None
            params = {"db_id": db_id}
            yield (
                f"{method.upper()} {path}",
                service.http.request(method, url, params=params, content=body, headers=headers),
            )


def test_every_route_knows_the_id_of_a_components_database(adapted: RunningService, result: dict[str, Any]) -> None:
    statuses = {route: response.status_code for route, response in requests(adapted, result, THEIRS)}
    assert len(statuses) >= 15
    assert {route: status for route, status in statuses.items() if status not in {200, 201, 204}} == {}


def test_no_route_knows_another_one(adapted: RunningService, result: dict[str, Any]) -> None:
    found = {route: (each.status_code, each.text) for route, each in requests(adapted, result, "nobodys")}
    assert {route: each for route, each in found.items() if each[0] != 404 or "id 'nobodys'" not in each[1]} == {}


def test_an_id_names_the_database_and_restricts_nothing(adapted: RunningService, result: dict[str, Any]) -> None:
    other = run(adapted, "agents/ann", "weather", session_id="no-db", user_id="nan").json()
    for route, ids in (("/sessions", ("runs", THEIRS)), ("/traces", ("default", THEIRS))):
        pages = [
            adapted.http.get(route, params={"user_id": "nan", **query}).json()["data"]
            for query in ({}, *({"db_id": db_id} for db_id in ids))
        ]
        assert {each["session_id"] for each in pages[0]} == {result["session_id"], other["session_id"]}
        assert pages[1] == pages[2] == pages[0]


def shown_ids(described: object) -> Iterator[str]:
    for name, value in described.items() if isinstance(described, dict) else ():
        yield from [value] if name == "db_id" else shown_ids(value)
    for each in described if isinstance(described, list) else ():
        yield from shown_ids(each)


def test_every_id_that_is_shown_is_listed(adapted: RunningService) -> None:
    config = adapted.http.get("/config").json()
    sessions, traces = (
        {each["db_id"]: each["domain_config"]["display_name"] for each in config[domain]["dbs"]}
        for domain in ("session", "traces")
    )
    assert sessions == {"runs": "Sessions", THEIRS: THEIRS}
    assert traces == {"default": "Traces", THEIRS: THEIRS}
    assert config["databases"] == ["default", "runs", THEIRS]
    kinds = ("agents", "teams", "workflows")
    shown = {
        db_id
        for kind in kinds
        for each in adapted.http.get(f"/{kind}").json()
        for db_id in shown_ids([each, adapted.http.get(f"/{kind}/{each['id']}").json()])
    }
    assert THEIRS in shown
    assert shown <= set(config["databases"])
    assert set(shown_ids(config)) == set(config["databases"])


def test_the_configuration_can_be_read_by_clients_of_every_version(adapted: RunningService) -> None:
    """`available_models` holds strings before agno 3, and objects since then. All versions accept its absence."""
    assert "available_models" not in adapted.http.get("/config").json()
    models = adapted.http.get("/models").json()
    assert {"id": "scripted-1", "provider": "Tests"} in models
    assert len(models) == len({model["id"] for model in models})
