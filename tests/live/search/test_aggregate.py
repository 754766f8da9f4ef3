"""`POST /traces/aggregate`: results over captured traces, rejected requests, and visibility."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import captures, export_request
from support.clients.tokens import as_caller, jwks_file
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

COUNT = {"name": "n", "op": "COUNT"}
P95 = {"name": "p95", "op": "QUANTILE", "key": "duration_ms", "q": 0.95}
BINS = {"name": "h", "op": "HISTOGRAM", "key": "duration_ms"}


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("aggregated") / "data") as service:
        for capture in captures():
            capture.send(service.http).raise_for_status()
        yield service


def asked(service: RunningService, **body: object) -> httpx.Response:
    return service.http.post("/traces/aggregate", json=body)


def traces(service: RunningService) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    while len(items) % 100 == 0:
        body = {"page": len(items) // 100 + 1, "limit": 100, "detail": "summary"}
        items += service.http.post("/traces/search", json=body).raise_for_status().json()["data"]
    return items


def test_counts_by_name_are_those_of_a_search(captured: RunningService) -> None:
    items = traces(captured)
    names = [item["name"] for item in items]
    expected = sorted({(-names.count(name), name) for name in names})
    found = asked(captured, by=[{"key": "name", "limit": 5}], measures=[COUNT]).raise_for_status().json()
    groups = [(-group["total"]["n"], group["by"]["name"]) for group in found["data"]["groups"]]
    assert groups == expected[:5]
    assert found["data"]["other"]["total"]["n"] == -sum(count for count, _ in expected[5:])
    assert found["data"]["groups_total"] == len(expected)
    assert found["meta"]["matched"] == len(items)


def test_a_filter_a_where_and_buckets_divide_the_traces(captured: RunningService) -> None:
    failed = {"op": "EQ", "key": "status", "value": "ERROR"}
    items = traces(captured)
    body = {"time": {"buckets": 10}, "measures": [COUNT, {"name": "failed", "op": "COUNT", "where": failed}]}
    (group,) = asked(captured, **body).raise_for_status().json()["data"]["groups"]
    assert group["total"] == {"n": len(items), "failed": sum(item["status"] == "ERROR" for item in items)}
    assert {name: sum(series) for name, series in group["series"].items()} == group["total"]
    (group,) = asked(captured, filter=failed, **body).raise_for_status().json()["data"]["groups"]
    assert group["total"]["n"] == group["total"]["failed"] > 0


WRONG = [
    ({"measures": []}, "$.measures"),
    ({}, "measures"),
    ({"measures": [COUNT] * 17}, "$.measures"),
    ({"measures": [COUNT, COUNT]}, "$.measures[1].name"),
    ({"measures": [{"name": "", "op": "COUNT"}]}, "$.measures[0].name"),
    ({"measures": [{"name": "n", "op": "MEDIAN"}]}, "$.measures[0].op"),
    ({"measures": [{"name": "n"}]}, "$.measures[0]"),
    ({"measures": [COUNT | {"key": "name"}]}, "$.measures[0].key"),
    ({"measures": [{"name": "n", "op": "SUM"}]}, "$.measures[0].key"),
    ({"measures": [{"name": "n", "op": "SUM", "key": "name"}]}, "$.measures[0].key"),
    ({"measures": [{"name": "n", "op": "COUNT_DISTINCT", "key": "trace_id"}]}, "$.measures[0].key"),
    ({"measures": [P95 | {"q": 1.5}]}, "$.measures[0].q"),
    ({"measures": [{"name": "n", "op": "QUANTILE", "key": "duration_ms"}]}, "$.measures[0].q"),
    ({"measures": [P95 | {"bins": 4}]}, "$.measures[0].bins"),
    ({"measures": [BINS | {"bins": 0}]}, "$.measures[0].bins"),
    ({"measures": [BINS | {"scale": "cubic"}]}, "$.measures[0].scale"),
    ({"measures": [BINS | {"range": [5, 5]}]}, "$.measures[0].range"),
    ({"measures": [BINS | {"range": [5]}]}, "$.measures[0].range"),
    ({"measures": [BINS | {"range": [0, 2**63]}]}, "$.measures[0].range[1]"),
    ({"measures": [COUNT | {"where": "status"}]}, "$.measures[0].where"),
    ({"measures": [COUNT], "filter": []}, "$.filter"),
    ({"measures": [COUNT], "by": [{"key": "duration_ms"}]}, "$.by[0].key"),
    ({"measures": [COUNT], "by": [{"key": "name"}, {"key": "name"}]}, "$.by[1].key"),
    ({"measures": [COUNT], "by": [{"key": "name"}, {"key": "status"}, {"key": "agent_id"}]}, "$.by"),
    ({"measures": [COUNT], "by": [{"key": "name", "limit": 0}]}, "$.by[0].limit"),
    ({"measures": [COUNT], "time": {}}, "$.time"),
    ({"measures": [COUNT], "time": {"buckets": 1_001}}, "$.time.buckets"),
    ({"measures": [COUNT], "time": {"buckets": 5, "from": "soon"}}, "$.time.from"),
    ({"measures": [COUNT], "time": {"buckets": 5, "to": "later"}}, "$.time.to"),
    ({"measures": [COUNT], "time": {"buckets": 5, "from": "2026-01-02", "to": "2026-01-01"}}, "$.time.to"),
    ({"measures": [COUNT], "time": {"buckets": 1_000}, "by": [{"key": "name", "limit": 11}]}, "$"),
    ({"measures": [BINS | {"bins": 101}], "by": [{"key": "name", "limit": 100}]}, "$"),
    ({"measures": [COUNT], "by": [{"key": "name", "limit": 101}, {"key": "user_id", "limit": 100}]}, "$"),
]


@pytest.mark.parametrize(("body", "place"), WRONG)
def test_a_wrong_member_is_422_with_its_place(captured: RunningService, body: dict[str, Any], place: str) -> None:
    response = asked(captured, **body)
    assert (response.status_code, response.json()["error_code"]) == (422, "VALIDATION_ERROR")
    detail = response.json()["detail"]
    assert detail.endswith(f" - at `{place}`") or (place == "measures" and "`measures`" in detail), detail


def test_limits_are_reached(captured: RunningService) -> None:
    for body in (
        {"measures": [COUNT | {"name": f"n{number}"} for number in range(16)]},
        {"measures": [COUNT], "time": {"buckets": 1_000}, "by": [{"key": "name", "limit": 10}]},
        {"measures": [BINS | {"bins": 100}], "by": [{"key": "name", "limit": 100}]},
        {"measures": [COUNT], "by": [{"key": "name", "limit": 100}, {"key": "user_id", "limit": 100}]},
    ):
        assert asked(captured, **body).status_code == 200


def test_an_invalid_filter_is_400_with_its_place(captured: RunningService) -> None:
    unknown = {"op": "AND", "conditions": [{"op": "EXISTS", "key": "name"}, {"op": "EQ", "key": "nope", "value": 1}]}
    response = asked(captured, filter=unknown, measures=[COUNT])
    assert response.status_code == 400
    assert response.json()["detail"].endswith(" - at `$.conditions[1].key`")
    response = asked(captured, measures=[COUNT, P95 | {"where": unknown}])
    assert response.status_code == 400
    assert response.json()["detail"].endswith(" - at `$.measures[1].where.conditions[1].key`")


def conditions(number: int) -> dict[str, Any]:
    return {"op": "OR", "conditions": [{"op": "EXISTS", "key": "name"}] * (number - 1)}


def test_all_filters_together_have_1024_conditions(captured: RunningService) -> None:
    measures = [COUNT | {"where": conditions(500)}, P95 | {"where": conditions(24)}]
    assert asked(captured, filter=conditions(500), measures=measures).status_code == 200
    response = asked(captured, filter=conditions(501), measures=measures)
    assert response.status_code == 422
    assert response.json()["detail"].endswith(" - at `$.measures[1].where`")


def test_a_caller_sees_its_own_traces_in_every_number(tmp_path: Any) -> None:
    json_body = {"Content-Type": "application/json"}
    with RunningService(tmp_path / "data", "--authorization", JWT_JWKS_FILE=jwks_file(tmp_path)) as service:
        for number, user in enumerate(["alice", "bob", "bob", ""], 1):
            given = {"user.id": user, "session.id": f"session of {user}"}
            body = export_request(f"{number:032x}", "a" * 16, **given)
            headers = json_body | as_caller("collector", "traces:write")
            service.http.post("/v1/traces", content=body, headers=headers).raise_for_status()
        question = {
            "time": {"buckets": 5},
            "by": [{"key": "user_id", "limit": 1}],
            "measures": [COUNT, {"name": "sessions", "op": "COUNT_DISTINCT", "key": "session_id"}, BINS],
        }

        def ask(caller: str, scope: str) -> httpx.Response:
            return service.http.post("/traces/aggregate", json=question, headers=as_caller(caller, scope))

        for user, count in (("alice", 1), ("bob", 2), ("nobody", 0)):
            found = ask(user, "traces:read").raise_for_status().json()
            data = found["data"]
            assert found["meta"]["matched"] == count
            assert [group["by"] for group in data["groups"]] == [{"user_id": user}] * bool(count)
            assert [group["total"] for group in data["groups"]] == [{"n": count, "sessions": 1}] * bool(count)
            assert data["groups_total"] == bool(count)
            assert "other" not in data
        assert ask("alice", "traces:write").status_code == 403
        assert service.http.post("/traces/aggregate", json=question).status_code == 401
