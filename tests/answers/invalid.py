"""Requests that a service rejects, and single reads that find nothing."""

from __future__ import annotations

import json
from typing import Any

_TEXT = {"op": "CONTAINS", "key": "text", "value": "table"}
_OK = {"op": "EQ", "key": "status", "value": "OK"}
_SPAN = {"op": "SPAN", "where": {"op": "EQ", "key": "type", "value": "LLM"}}
_COUNT = {"name": "count", "op": "COUNT"}


def _nested(depth: int) -> dict[str, Any]:
    return {"op": "NOT", "condition": _nested(depth - 1)} if depth else _OK


_FILTERS: list[Any] = [
    {"op": "GTT", "key": "status", "value": "OK"},
    {"op": "eq", "key": "status", "value": "OK"},
    {"op": "EQ", "key": "nope", "value": "OK"},
    {"op": "EQ", "key": "status", "value": "MAYBE"},
    {"op": "EQ", "key": "status", "valeu": "OK"},
    {"op": "EQ", "key": "status"},
    {"op": "GT", "key": "status", "value": "OK"},
    {"op": "EQ", "key": "duration_ms", "value": "5"},
    {"op": "EQ", "key": "duration_ms", "value": None},
    {"op": "LT", "key": "start_time", "value": "soon"},
    {"op": "IN", "key": "name", "values": "one"},
    {"op": "IN", "key": "name", "values": [1]},
    {"op": "AND", "conditions": []},
    {"op": "AND", "conditions": [_OK, {"op": "EQ", "key": "text", "value": "x"}]},
    {"op": "NOT", "conditions": [_OK, _OK]},
    {"op": "CONTAINS", "key": "text", "value": "..."},
    {"op": "CONTAINS", "key": "name", "value": "x" * 5_000},
    {"op": "EQ", "key": "name", "value": "x", "ignore_case": 1},
    {"op": "PARENT", "where": _OK},
    {"op": "SPAN", "where": {"op": "EQ", "key": "user_id", "value": "x"}},
    {"op": "SPAN", "where": _SPAN},
    {"op": "SPAN", "where": _OK, "at_least": -1},
    {"op": "SPAN", "where": {"op": "CHILD", "same": ["name"], "where": _OK}},
    {"op": "AND", "conditions": [{**_SPAN, "as": "a"}, {**_SPAN, "as": "a"}]},
    {"op": "AND", "conditions": [_SPAN] * 9},
    {"op": "OR", "conditions": [_TEXT] * 17},
    _nested(40),
    5,
    "status",
    [],
]
_SEARCHES: list[dict[str, Any]] = [
    {"limit": 101},
    {"limit": 0},
    {"page": 0},
    {"page": "1"},
    {"page": 2**70},
    {"group_by": "user"},
    {"detail": "half"},
    {"sort": {"key": "name"}},
    {"group_by": "session", "sort": {"key": "cost"}},
    {"group_by": "session", "matches": True},
    {"group_by": "session", "total": "at_least"},
    {"total": "at_least", "sort": {"key": "cost"}},
    {"total": "at_least", "sort": {"key": "start_time", "ascending": True}},
    {"matches": None},
]
_AGGREGATIONS: list[dict[str, Any]] = [
    {"measures": []},
    {"measures": [_COUNT, _COUNT]},
    {"measures": [{"name": "a", "op": "MEDIAN"}]},
    {"measures": [{"name": "a", "op": "SUM", "key": "name"}]},
    {"measures": [{"name": "a", "op": "QUANTILE", "key": "cost", "q": 2}]},
    {"measures": [{**_COUNT, "where": {"op": "EQ", "key": "nope", "value": 1}}]},
    {"measures": [_COUNT], "by": [{"key": "trace_id"}]},
    {"measures": [_COUNT], "by": [{"key": "name", "limit": 10_000}, {"key": "user_id", "limit": 10_000}]},
    {"measures": [_COUNT], "time": {"buckets": 1_001}},
    {"measures": [_COUNT], "time": {"from": "2026-02-01", "to": "2026-01-01", "buckets": 3}},
    {"measures": [{"name": "a", "op": "AVG", "key": "cost"}], "by": [{"key": "model"}]},
]
_FACETS: list[dict[str, Any]] = [
    {"fields": []},
    {"fields": ["trace_id"]},
    {"fields": ["name", "name"]},
    {"fields": ["name"], "limit": 1_001},
    {"fields": ["name"], "prefix": {"field": "user_id", "text": "a"}},
]
_SPAN_SEARCHES: list[dict[str, Any]] = [
    {"filter": {"op": "EQ", "key": "user_id", "value": "x"}},
    {"filter": _SPAN},
    {"traces": {"op": "AND", "conditions": [{"op": "EQ", "key": "depth", "value": 1}]}},
    {"total": "all"},
    {"limit": 1_000},
]
_DELETIONS: list[Any] = [{}, {"filter": None}, {"filter": {"op": "EQ", "key": "nope", "value": 1}, "dry_run": True}]
_UNKNOWN = "0" * 31 + "f"
_TARGETS = (
    "/traces?limit=101",
    "/traces?page=x",
    "/traces?status=MAYBE",
    "/traces?start_time=soon",
    "/traces?db_id=other",
    "/traces?page=1&page=2",
    "/trace_session_stats?limit=0",
    f"/traces/{_UNKNOWN}",
    f"/traces/{_UNKNOWN}?detail=skeleton",
    f"/traces/{_UNKNOWN}?span_id=0000000000000001",
    f"/traces/{_UNKNOWN}?path=/name",
    f"/traces/{_UNKNOWN}?span_id=0000000000000001&detail=full",
    f"/traces/{_UNKNOWN}?span_id=0000000000000001&max_bytes=3",
    "/traces/not-an-id",
    "/traces/export?format=csv",
    "/traces/export?filter=%7B",
    "/traces/attributes?limit=0",
    "/traces/attributes?filter=%7B%22op%22%3A1%7D",
    "/traces/filter-schema",
)


def _post(target: str, body: object) -> tuple[str, str, str]:
    return "POST", target, json.dumps(body)


INVALID_REQUESTS: list[tuple[str, str, str]] = [
    *(_post("/traces/search", {"filter": each}) for each in _FILTERS),
    *(_post("/traces/search", each) for each in _SEARCHES),
    *(_post("/traces/aggregate", each) for each in _AGGREGATIONS),
    *(_post("/traces/facets", each) for each in _FACETS),
    *(_post("/spans/search", each) for each in _SPAN_SEARCHES),
    # None of these may delete a trace: they are rejected, or count.
    *(_post("/traces/delete", each) for each in _DELETIONS),
    *(("GET", target, "") for target in _TARGETS),
    ("POST", "/traces/search", '{"filter":'),
    ("POST", "/traces/search", "[]"),
    ("POST", "/traces/search?nope=1", "{}"),
    ("POST", "/traces/search", '{"filter": {"op": "EQ", "op": "EQ", "key": "status", "value": "OK"}}'),
]
"""Method, target and body of each request."""
