"""Facets over HTTP: their counts, their visibility, and rejected requests."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import captures, export_request
from support.clients.tokens import as_admin, as_caller, jwks_file
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

IDS = ["user_id", "agent_id", "team_id", "workflow_id", "session_id", "run_id"]
FIELDS = ["status", *IDS, "name", "service", "environment", "release"]
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("facets") / "data") as service:
        for capture in captures():
            capture.send(service.http).raise_for_status()
        yield service


def facets(service: RunningService, headers: dict[str, str] | None = None, **body: object) -> dict[str, Any]:
    response = service.http.post("/traces/facets", json=body, headers=headers)
    found: dict[str, Any] = response.raise_for_status().json()
    return found


def rows(service: RunningService, condition: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for page in range(1, 100):
        body = {"filter": condition, "page": page, "limit": 100, "detail": "summary"}
        found = service.http.post("/traces/search", json=body).raise_for_status().json()["data"]
        items += found
        if not found:
            break
    return items


def counted(items: list[dict[str, Any]], field: str, limit: int, prefix: str = "") -> dict[str, Any]:
    counts = Counter(item[field] for item in items if field in item and item[field].startswith(prefix))
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return {
        "values": [{"value": value, "count": count} for value, count in ordered[:limit]],
        "distinct": len(counts),
        "missing": sum(field not in item for item in items),
        "truncated": len(counts) > limit,
    }


FAILED = {"op": "EQ", "key": "status", "value": "ERROR"}
RUN = {"op": "CONTAINS", "key": "name", "value": "run"}


@pytest.mark.parametrize(
    "condition", [None, {}, FAILED, RUN, {"op": "AND", "conditions": [RUN, FAILED]}, {"op": "EXISTS", "key": "run_id"}]
)
def test_facets_count_what_a_search_finds(captured: RunningService, condition: dict[str, Any] | None) -> None:
    found = facets(captured, filter=condition, fields=FIELDS, limit=3)
    items = rows(captured, condition)
    assert list(found["data"]) == FIELDS
    assert found["data"] == {field: counted(items, field, 3) for field in FIELDS}
    assert found["meta"]["matched"] == len(items) > 0
    assert found["meta"]["exclude_own_ignored"] == []
    assert found["meta"]["search_time_ms"] > 0


def test_a_prefix_narrows_the_values_of_its_field_alone(captured: RunningService) -> None:
    items = rows(captured)
    prefix = items[0]["name"][:2]
    found = facets(captured, fields=["name", "session_id"], prefix={"field": "name", "text": prefix}, limit=1000)
    assert found["data"]["name"] == counted(items, "name", 1000, prefix)
    assert found["data"]["name"]["distinct"] < counted(items, "name", 1000)["distinct"]
    assert found["data"]["session_id"] == counted(items, "session_id", 1000)


def test_the_conditions_on_a_field_are_left_out_of_its_own_counts(captured: RunningService) -> None:
    both = {"op": "AND", "conditions": [FAILED, {"op": "AND", "conditions": [RUN]}]}
    found = facets(captured, filter=both, fields=["status", "name", "run_id"], limit=1000, exclude_own=True)
    assert found["data"]["status"] == counted(rows(captured, RUN), "status", 1000)
    assert found["data"]["name"] == counted(rows(captured, FAILED), "name", 1000)
    assert found["data"]["run_id"] == counted(rows(captured, both), "run_id", 1000)
    assert found["meta"]["matched"] == len(rows(captured, both))
    assert found["meta"]["exclude_own_ignored"] == []

    either = {"op": "OR", "conditions": [FAILED, RUN]}
    found = facets(captured, filter=either, fields=["name", "status", "run_id"], limit=1000, exclude_own=True)
    items = rows(captured, either)
    assert found["data"] == {field: counted(items, field, 1000) for field in ("name", "status", "run_id")}
    assert found["meta"]["exclude_own_ignored"] == ["name", "status"]


ALL = ", ".join(f"`{field}`" for field in FIELDS)
REJECTED: list[tuple[dict[str, Any], int, str]] = [
    ({}, 422, "Object missing required field `fields`"),
    ({"fields": []}, 422, "Expected `array` of length >= 1 - at `$.fields`"),
    ({"fields": "name"}, 422, "Expected `array`, got `str` - at `$.fields`"),
    ({"fields": ["name", 1]}, 422, "Expected `str`, got `int` - at `$.fields[1]`"),
    ({"fields": ["name", "trace_id"]}, 422, f"Expected one of {ALL}, got `trace_id` - at `$.fields[1]`"),
    ({"fields": ["duration_ms"]}, 422, f"Expected one of {ALL}, got `duration_ms` - at `$.fields[0]`"),
    ({"fields": ["name", "status", "name"]}, 422, "Expected every field once, got `name` twice - at `$.fields[2]`"),
    ({"fields": [*FIELDS, "name"]}, 422, "Expected `array` of length <= 11 - at `$.fields`"),
    ({"fields": ["name"], "limit": 0}, 422, "Expected `int` >= 1 - at `$.limit`"),
    ({"fields": ["name"], "limit": 1001}, 422, "Expected `int` <= 1000 - at `$.limit`"),
    ({"fields": ["name"], "limit": "5"}, 422, "Expected `int`, got `str` - at `$.limit`"),
    ({"fields": ["name"], "exclude_own": 1}, 422, "Expected `bool`, got `int` - at `$.exclude_own`"),
    ({"fields": ["name"], "prefix": "a"}, 422, "Expected `object`, got `str` - at `$.prefix`"),
    ({"fields": ["name"], "prefix": {"field": "name"}}, 422, "Object missing required field `text` - at `$.prefix`"),
    (
        {"fields": ["name"], "prefix": {"field": "user_id", "text": ""}},
        422,
        "Expected one of `fields`, got `user_id` - at `$.prefix.field`",
    ),
    (
        {"fields": ["name"], "prefix": {"field": "end_time", "text": ""}},
        422,
        f"Expected one of {ALL}, got `end_time` - at `$.prefix.field`",
    ),
    (
        {"fields": ["name"], "prefix": {"field": "name", "text": "a" * 1025}},
        422,
        "Expected `str` of length <= 1024 - at `$.prefix.text`",
    ),
    ({"fields": ["name"], "filter": []}, 422, "Expected `object | null`, got `array` - at `$.filter`"),
    ({"fields": ["name"], "filter": {"op": "GTT", "key": "name", "value": "a"}}, 400, "unknown operator `GTT`"),
]


@pytest.mark.parametrize(("body", "status", "text"), REJECTED, ids=[str(number) for number in range(len(REJECTED))])
def test_a_wrong_member_is_rejected_with_its_place(
    captured: RunningService, body: dict[str, Any], status: int, text: str
) -> None:
    response = captured.http.post("/traces/facets", json=body)
    assert (response.status_code, response.json()["detail"][: len(text)]) == (status, text)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("guarded")
    with RunningService(folder / "data", "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as service:
        for number in range(30):
            user = ("alice", "bob", "")[number % 3]
            attributes = {"user.id": user, "session.id": f"session {number // 6} of {user}"}
            body = export_request(
                f"{number + 1:032x}", "e" * 16, **{key: text for key, text in attributes.items() if text}
            )
            headers = JSON | as_caller("collector", "traces:write")
            service.http.post("/v1/traces", content=body, headers=headers).raise_for_status()
        yield service


def test_a_caller_counts_its_own_traces_alone(guarded: RunningService) -> None:
    admin = facets(guarded, as_admin(), fields=["user_id", "session_id"], limit=100)
    assert admin["data"]["user_id"]["values"] == [{"value": "alice", "count": 10}, {"value": "bob", "count": 10}]
    assert admin["data"]["user_id"]["missing"] == 10
    everyone: list[dict[str, Any] | None] = [
        None,
        {"op": "EQ", "key": "user_id", "value": "bob"},
        {"op": "NEQ", "key": "user_id", "value": "alice"},
        {"op": "NOT", "condition": {"op": "EXISTS", "key": "user_id"}},
        {"op": "OR", "conditions": [{"op": "EXISTS", "key": "name"}, {"op": "EQ", "key": "user_id", "value": "bob"}]},
    ]
    for condition in everyone:
        for exclude_own in (False, True):
            body = {"filter": condition, "fields": ["user_id", "session_id"], "exclude_own": exclude_own}
            data = facets(guarded, as_caller("alice", "traces:read"), **body, limit=100)["data"]
            assert all(value["value"] == "alice" for value in data["user_id"]["values"])
            assert all(value["value"].endswith("of alice") for value in data["session_id"]["values"])
            assert data["user_id"]["distinct"] <= 1
            assert data["session_id"]["distinct"] == len(data["session_id"]["values"])
            assert data["user_id"]["missing"] == data["session_id"]["missing"] == 0
    own = facets(guarded, as_caller("alice", "traces:read"), fields=["user_id"], filter=everyone[1], exclude_own=True)
    assert own["data"]["user_id"]["values"] == [{"value": "alice", "count": 10}]
    assert own["meta"]["matched"] == 0


def test_counting_needs_the_scope_of_searches(guarded: RunningService) -> None:
    body = {"fields": ["name"]}
    assert guarded.http.post("/traces/facets", json=body).status_code == 401
    assert guarded.http.post("/traces/facets", json=body, headers=as_caller("alice", "traces:write")).status_code == 403
    assert guarded.http.post("/traces/facets", json=body, headers=as_caller("alice", "traces:read")).status_code == 200


def test_facets_that_exceed_the_memory_for_counting_are_rejected(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("small")
    with RunningService(folder / "data", "--counting-buffer-bytes", "100") as service:
        service.http.post("/v1/traces", content=export_request("1" * 32, "2" * 16), headers=JSON).raise_for_status()
        response = service.http.post("/traces/facets", json={"fields": ["name"]})
        assert response.status_code == 413
        assert "`counting_buffer_bytes`" in response.json()["detail"]
        assert service.http.post("/traces/search", json={}).status_code == 200
