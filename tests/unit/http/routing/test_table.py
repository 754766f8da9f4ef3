from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from spanwise.http.responses.errors import json_error_response, otlp_error_response
from spanwise.http.routing.table import OTLP_TABLE, TABLE

if TYPE_CHECKING:
    from spanwise.http.core.route import Route

PUBLIC_PATHS = {"/", "/health", "/info", "/docs", "/redoc", "/openapi.json", "/docs/oauth2-redirect", "/ui"}
"""The routes without authorization: docs/reference/tokens.md#public-routes."""

PUBLISHED = {
    ("GET", "/"): "",
    ("GET", "/ui"): "",
    ("GET", "/info"): "",
    ("GET", "/health"): "",
    ("GET", "/docs"): "",
    ("GET", "/redoc"): "",
    ("GET", "/openapi.json"): "",
    ("GET", "/docs/oauth2-redirect"): "",
    ("GET", "/metrics"): "metrics:read",
    ("GET", "/traces"): "traces:read",
    ("GET", "/trace_session_stats"): "traces:read",
    ("POST", "/traces/search"): "traces:read",
    ("POST", "/spans/search"): "traces:read",
    ("POST", "/traces/aggregate"): "traces:read",
    ("POST", "/traces/facets"): "traces:read",
    ("POST", "/traces/tail"): "traces:read",
    ("POST", "/traces/delete"): "traces:delete",
    ("GET", "/traces/filter-schema"): "traces:read",
    ("GET", "/traces/attributes"): "traces:read",
    ("GET", "/traces/export"): "traces:read",
    ("GET", "/traces/{trace_id}"): "traces:read",
    ("POST", "/v1/traces"): "traces:write",
    ("POST", "/api/public/otel/v1/traces"): "traces:write",
    ("POST", "/v1/logs"): "traces:write",
    ("POST", "/v1/metrics"): "traces:write",
    ("GET", "/sessions"): "sessions:read",
    ("GET", "/sessions/{session_id}"): "sessions:read",
    ("GET", "/sessions/{session_id}/runs"): "sessions:read",
    ("GET", "/sessions/{session_id}/runs/{run_id}"): "sessions:read",
    ("GET", "/sessions/{session_id}/run-previews"): "sessions:read",
    ("POST", "/sessions"): "sessions:write",
    ("DELETE", "/sessions"): "sessions:delete",
    ("POST", "/sessions/{session_id}/rename"): "sessions:write",
    ("PATCH", "/sessions/{session_id}"): "sessions:write",
    ("GET", "/config"): "config:read",
    ("GET", "/settings"): "config:read",
    ("GET", "/models"): "config:read",
    ("DELETE", "/sessions/{session_id}"): "sessions:delete",
    ("GET", "/approvals"): "approvals:read",
    ("GET", "/approvals/count"): "approvals:read",
    ("GET", "/approvals/{approval_id}"): "approvals:read",
    ("GET", "/approvals/{approval_id}/status"): "approvals:read",
    ("POST", "/approvals/{approval_id}/resolve"): "approvals:write",
    ("DELETE", "/approvals/{approval_id}"): "approvals:delete",
} | {
    (method, f"/{kind}{path}"): ", ".join(f"{kind}:{action}" for action in actions)
    for kind in ("agents", "teams", "workflows")
    for method, path, actions in (
        ("GET", "", ["read"]),
        ("GET", "/{component_id}", ["read"]),
        ("GET", "/{component_id}/runs", ["run", "read"]),
        ("GET", "/{component_id}/runs/{run_id}", ["run", "read"]),
        ("POST", "/{component_id}/runs", ["run"]),
        ("POST", "/{component_id}/runs/{run_id}/continue", ["run"]),
        ("POST", "/{component_id}/runs/{run_id}/cancel", ["run"]),
        ("POST", "/{component_id}/runs/{run_id}/resume", ["run"]),
    )
}


def test_the_table_is_the_published_one() -> None:
    assert {(row.method, row.path): str(row.need or "") for row in TABLE} == PUBLISHED


def test_every_public_path_is_served() -> None:
    assert {row.path for row in TABLE if row.is_public} == PUBLIC_PATHS


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.method} {row.path}")
def test_a_row_is_public_or_names_its_scopes(row: Route) -> None:
    assert row.is_public == (row.path in PUBLIC_PATHS)
    assert row.is_public == (row.need is None)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.method} {row.path}")
def test_a_body_is_limited_where_there_is_one(row: Route) -> None:
    deletes_several = (row.method, row.path) == ("DELETE", "/sessions")
    assert (row.method in {"POST", "PATCH"} or deletes_several) == (row.body is not None)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.method} {row.path}")
def test_errors_are_json_except_where_otlp_says_otherwise(row: Route) -> None:
    assert row.write_error is (otlp_error_response if "/v1/" in row.path else json_error_response)


def test_only_the_routes_of_langfuse_take_basic_authentication() -> None:
    assert {row.path for row in TABLE if row.accepts_basic} == {"/api/public/otel/v1/traces"}


def test_exporters_get_their_routes_and_health() -> None:
    assert {row.path for row in OTLP_TABLE} == {
        "/v1/traces",
        "/v1/logs",
        "/v1/metrics",
        "/api/public/otel/v1/traces",
        "/health",
    }


def test_a_fixed_path_comes_before_one_with_a_parameter() -> None:
    paths = [row.path for row in TABLE]
    assert paths.index("/traces/filter-schema") < paths.index("/traces/{trace_id}")
    assert paths.index("/approvals/count") < paths.index("/approvals/{approval_id}")
