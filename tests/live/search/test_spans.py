"""`POST /spans/search`: the spans of captured traces as rows, rejected requests, and visibility."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import captures, export_request
from support.clients.tokens import as_admin, as_caller, jwks_file
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JSON = {"Content-Type": "application/json"}
TOOL = {"op": "EQ", "key": "type", "value": "TOOL"}
FAILED = {"op": "EQ", "key": "status", "value": "ERROR"}
OF_AGENTS = {"op": "EXISTS", "key": "agent_id"}


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("spans") / "data") as service:
        for capture in captures():
            capture.send(service.http).raise_for_status()
        yield service


def spans(service: RunningService, headers: dict[str, str] | None = None, **body: object) -> dict[str, Any]:
    response = service.http.post("/spans/search", json=body, headers=headers)
    found: dict[str, Any] = response.raise_for_status().json()
    return found


def every_span(service: RunningService, headers: dict[str, str] | None = None, **body: object) -> list[dict[str, Any]]:
    """Returns the spans of all pages, and asserts that the totals are correct."""
    items: list[dict[str, Any]] = []
    while True:
        page = len(items) // 70 + 1
        found = spans(service, headers, page=page, limit=70, **body)
        exact = spans(service, headers, page=page, limit=70, total="exact", **body)
        assert (exact["data"], exact["meta"]["total_is"]) == (found["data"], "exact")
        items += found["data"]
        if len(found["data"]) < 70:
            break
        if found["meta"]["total_is"] == "at_least":
            assert len(items) < found["meta"]["total_count"] <= exact["meta"]["total_count"]
    assert found["meta"]["total_is"] == "exact"
    assert found["meta"]["total_count"] == exact["meta"]["total_count"] == len(items)
    return items


def nodes(service: RunningService, condition: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Returns the nodes of all trees in the order of rows, each with the id of its trace."""
    found: list[dict[str, Any]] = []

    def add(trace_id: str, node: dict[str, Any]) -> None:
        found.append({**node, "trace_id": trace_id})
        for child in node.get("spans") or []:
            add(trace_id, child)

    for page in range(1, 100):
        traces = service.search(filter=condition, page=page, limit=50).raise_for_status().json()["data"]
        for trace in traces:
            for root in trace["tree"]:
                add(trace["trace_id"], root)
        if not traces:
            break
    return found


def test_a_span_says_which_of_its_texts_were_found_and_which_spans_are_on_axes(captured: RunningService) -> None:
    said = {"op": "CONTAINS", "key": "text", "value": "weather"}
    condition = {
        "op": "AND",
        "conditions": [said, {"op": "PARENT", "as": "caller", "where": {"op": "EXISTS", "key": "name"}}],
    }
    found = spans(captured, filter=condition, limit=100, matches=True)["data"]
    assert len(found) > 5
    for item in found:
        matches = item.pop("matches")
        assert matches["spans"]["caller"]["count"] == 1
        assert matches["texts"]
        for piece in matches["texts"]:
            assert piece["span_id"] == item["span_id"]
            assert piece["context"][piece["start"] : piece["end"]].lower() == "weather"
    assert found == spans(captured, filter=condition, limit=100)["data"]
    assert all("matches" not in item for item in found)


def cut(text: str) -> str:
    return text if len(text) <= 200 else text[:200] + "…"


@pytest.mark.parametrize(
    ("asked", "keeps"),
    [
        ({}, lambda _: True),
        ({"filter": {}, "traces": {}}, lambda _: True),
        ({"filter": TOOL}, lambda node: node["type"] == "TOOL"),
        ({"filter": {"op": "NOT", "condition": TOOL}}, lambda node: node["type"] != "TOOL"),
        ({"filter": FAILED, "traces": FAILED}, lambda node: node["status"] == "ERROR"),
        (
            {"filter": {"op": "CHILD", "where": TOOL}},
            lambda node: any(child["type"] == "TOOL" for child in node.get("spans") or []),
        ),
    ],
    ids=["nothing", "empty", "tools", "no tools", "failed", "axis"],
)
def test_rows_are_the_spans_of_the_trees_in_their_order(
    captured: RunningService, asked: dict[str, Any], keeps: Callable[[dict[str, Any]], bool]
) -> None:
    expected = [node for node in nodes(captured) if keeps(node)]
    found = every_span(captured, **asked)
    assert len(found) > 10
    assert [(row["trace_id"], row["span_id"]) for row in found] == [(node["trace_id"], node["id"]) for node in expected]
    for row, node in zip(found, expected, strict=True):
        assert {key: row[key] for key in ("name", "type", "status", "start_time")} == {
            key: node[key] for key in ("name", "type", "status", "start_time")
        }
        shown = {f"{side}_preview": cut(node[side]) for side in ("input", "output", "error") if side in node}
        assert {key: value for key, value in row.items() if key.endswith("_preview")} == shown


def test_the_traces_narrow_the_spans(captured: RunningService) -> None:
    own = {(node["trace_id"], node["id"]) for node in nodes(captured, OF_AGENTS) if node["type"] == "TOOL"}
    assert {(row["trace_id"], row["span_id"]) for row in every_span(captured, filter=TOOL, traces=OF_AGENTS)} == own
    assert 0 < len(own) < len(every_span(captured, filter=TOOL))


def test_a_row_has_what_filters_compare(captured: RunningService) -> None:
    for row in every_span(captured):
        conditions = [
            {"op": "EQ", "key": key, "value": row[key]}
            for key in row
            if key not in {"trace_id", "span_id"} and not key.endswith("_preview")
        ]
        of_trace = {"op": "EQ", "key": "trace_id", "value": row["trace_id"]}
        same = spans(captured, filter={"op": "AND", "conditions": conditions}, traces=of_trace, limit=100)["data"]
        assert row in same


REJECTED: list[tuple[dict[str, Any], int, str]] = [
    ({"filter": {"op": "EQ", "key": "total_spans", "value": 3}}, 400, "field `total_spans` is a field of a trace"),
    ({"filter": {"op": "SPAN", "where": TOOL}}, 400, "`SPAN` inside of `SPAN`, expected a condition on a span"),
    ({"filter": {"op": "PARENT", "where": {"op": "GTT"}}}, 400, "unknown operator `GTT` - at `$.where.op`"),
    ({"traces": TOOL}, 400, "unknown field `type`"),
    (
        {"traces": {"op": "AND", "conditions": [{"op": "GTT"}]}},
        400,
        "unknown operator `GTT` - at `$.traces.conditions[0",
    ),
    ({"filter": []}, 422, "Expected `object | null`, got `array` - at `$.filter`"),
    ({"traces": 1}, 422, "Expected `object | null`, got `number` - at `$.traces`"),
    ({"limit": 101}, 422, "Expected `int` <= 100 - at `$.limit`"),
    ({"page": 0}, 422, "Expected `int` >= 1 - at `$.page`"),
    ({"total": "all"}, 422, "Invalid enum value 'all' - at `$.total`"),
]


@pytest.mark.parametrize(("body", "status", "text"), REJECTED, ids=[str(number) for number in range(len(REJECTED))])
def test_a_wrong_member_is_rejected_with_its_place(
    captured: RunningService, body: dict[str, Any], status: int, text: str
) -> None:
    response = captured.http.post("/spans/search", json=body)
    assert (response.status_code, response.json()["detail"][: len(text)]) == (status, text)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("guarded")
    with RunningService(folder / "data", "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as service:
        for number in range(30):
            user = ("alice", "bob", "")[number % 3]
            attributes = {"user.id": user, "input.value": f"secret of {user}"}
            ids = [f"{span:016x}" for span in range(1, 2 + number % 2 + 1)]
            given = {key: text for key, text in attributes.items() if text}
            body = export_request(f"{number + 1:032x}", *ids, **given)
            headers = JSON | as_caller("collector", "traces:write")
            service.http.post("/v1/traces", content=body, headers=headers).raise_for_status()
        yield service


def test_a_caller_sees_and_counts_spans_of_its_own_traces_alone(guarded: RunningService) -> None:
    own = {f"{number + 1:032x}" for number in range(0, 30, 3)}
    alice = as_caller("alice", "traces:read")
    said = {"op": "CONTAINS", "key": "input", "value": "secret"}
    of_bob = {"op": "EQ", "key": "user_id", "value": "bob"}
    everyone = every_span(guarded, as_admin())
    assert len(everyone) == 75
    mine = [row for row in everyone if row["trace_id"] in own]
    assert len(mine) == 25
    hidden: list[dict[str, Any]] = [
        {},
        {"filter": said},
        {"filter": {"op": "NOT", "condition": {"op": "CONTAINS", "key": "text", "value": "of bob"}}},
        {"traces": {"op": "OR", "conditions": [of_bob, {"op": "EXISTS", "key": "name"}]}},
        {"traces": {"op": "NOT", "condition": {"op": "SPAN", "at_least": 4, "where": said}}, "filter": said},
    ]
    for body in hidden:
        assert every_span(guarded, alice, **body) == mine
    for body in ({"traces": of_bob}, {"filter": {"op": "CONTAINS", "key": "text", "value": "of bob"}}):
        assert every_span(guarded, alice, **body) == []


def test_a_search_for_spans_needs_the_scope_of_searches(guarded: RunningService) -> None:
    assert guarded.http.post("/spans/search", json={}).status_code == 401
    assert guarded.http.post("/spans/search", json={}, headers=as_caller("alice", "traces:write")).status_code == 403
    assert guarded.http.post("/spans/search", json={}, headers=as_caller("alice", "traces:read")).status_code == 200
