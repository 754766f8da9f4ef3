"""The service matches its OpenAPI document under random requests, and its documentation pages work offline."""

from __future__ import annotations

import os
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from spanwise.api.aggregates import AggregateResponse
from spanwise.api.spans import SpanDetail, SpanPage, ValuePage
from spanwise.api.traces import DetailPage, PreviewPage, SessionPage, SummaryPage, TraceDetail, TraceSkeleton
from spanwise.http.routing.table import TABLE
from support.clients.otlp import captures
from support.clients.tokens import as_admin, jwks_file
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.http.core.route import Route


class Elements(HTMLParser):
    """Collects the elements of a page and the addresses of their resources."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.addresses: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.addresses += (value for name, value in attrs if name in {"src", "href"})


def fill(service: RunningService) -> None:
    for capture in captures()[::4]:
        capture.send(service.http).raise_for_status()


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("described")
    with RunningService(folder / "data", "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as service:
        service.http.headers.update(as_admin())
        fill(service)
        yield service
        assert service.stop() == 0


# The description says only that a filter is an object. `/traces/filter-schema` describes the valid ones in rules that
# JSON Schema cannot express, so rejecting one is not a failure.
FILTERED = {
    "/traces/search",
    "/spans/search",
    "/traces/aggregate",
    "/traces/facets",
    "/traces/delete",
    "/traces/attributes",
    "/traces/export",
}
# The stream ends only when its client disconnects. `tests/live/search/test_tail.py` checks its events against their
# schemas.
ENDLESS = {"/traces/tail"}
# JSON Schema cannot express that two arrays have equal lengths, or that parameters depend on each other.
PAIRED = {"delete_sessions", "get_trace"}


@pytest.mark.parametrize(
    "cases", [100, pytest.param(int(os.environ.get("SLOW_CASES", "1000")), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    "row", [row for row in TABLE if row.path not in ENDLESS], ids=lambda row: f"{row.method} {row.path}"
)
def test_every_response_is_a_documented_one(described: RunningService, row: Route, cases: int) -> None:
    schema = schemathesis.openapi.from_url(f"{described.url}/openapi.json")
    excluded: list[Any] = [positive_data_acceptance] if row.path in FILTERED or row.operation.id in PAIRED else []

    @given(case=schema[row.path][row.method].as_strategy())
    @settings(max_examples=cases, deadline=None, suppress_health_check=list(HealthCheck))
    def ask(case: schemathesis.Case[Any]) -> None:
        case.call_and_validate(headers=as_admin(), excluded_checks=excluded)

    ask()


def decode_strictly(response: bytes, shape: Any) -> Any:  # any shape
    """Decodes a response as a type, and asserts that it has no further members."""
    decoded = msgspec.json.decode(response, type=shape)
    assert msgspec.json.decode(msgspec.json.encode(decoded)) == msgspec.json.decode(response)
    return decoded


def test_responses_have_the_members_of_their_models_and_no_others(described: RunningService) -> None:
    fill(described)  # a random request may have deleted the traces
    for page in range(1, 4):
        runs = described.http.post("/traces/search", json={"limit": 30, "page": page})
        for detail in decode_strictly(runs.content, DetailPage).data:
            response = described.http.get(f"/traces/{detail.trace_id}")
            assert decode_strictly(response.content, TraceDetail) == detail
            node = described.http.get(f"/traces/{detail.trace_id}", params={"span_id": detail.tree[0].id})
            assert decode_strictly(node.content, SpanDetail).spans is None
            skeleton = described.http.get(f"/traces/{detail.trace_id}", params={"detail": "skeleton"})
            assert decode_strictly(skeleton.content, TraceSkeleton).spans.span_id[0] == detail.tree[0].id
            path = {"span_id": detail.tree[0].id, "path": "/name"}
            name = described.http.get(f"/traces/{detail.trace_id}", params=path)
            assert decode_strictly(name.content, ValuePage).text == detail.tree[0].name
    said = {"op": "CONTAINS", "key": "text", "value": "e"}
    made = {"op": "AND", "conditions": [{"op": "SPAN", "as": "made", "where": said}, said]}
    asked = {"filter": made, "matches": True}
    for shape, detail in ((DetailPage, "full"), (PreviewPage, "summary")):
        runs = described.http.post("/traces/search", json={**asked, "detail": detail})
        for item in decode_strictly(runs.content, shape).data:
            assert item.matches.spans["made"].count
            assert item.matches.texts
    assert decode_strictly(described.http.post("/spans/search", json={"filter": said}).content, SpanPage).data
    sessions = described.http.post("/traces/search", json={"group_by": "session"})
    assert decode_strictly(sessions.content, SessionPage).data
    assert decode_strictly(described.http.get("/trace_session_stats").content, SessionPage).data
    assert decode_strictly(described.http.get("/traces").content, SummaryPage).data
    aggregation = {
        "time": {"from": "2020-01-01", "buckets": 7},
        "by": [{"key": "agent_id", "limit": 1}, {"key": "status", "limit": 1}],
        "measures": [
            {"name": "median", "op": "QUANTILE", "key": "duration_ms", "q": 0.5},
            {"name": "spans", "op": "HISTOGRAM", "key": "total_spans", "range": [0, 4]},
        ],
    }
    response = described.http.post("/traces/aggregate", json=aggregation)
    data = decode_strictly(response.content, AggregateResponse).data
    assert data.groups
    assert data.groups[0].histograms


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
def test_a_page_is_self_contained(described: RunningService, path: str) -> None:
    response = described.http.get(path)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    elements = Elements()
    elements.feed(response.text)
    assert elements.found.count("script") == 2
    assert not {"img", "iframe", "object"} & set(elements.found)
    assert elements.addresses == ["data:,"]  # an explicitly empty icon, because browsers would request one
    assert "cdn." not in response.text
    policy = dict(part.strip().split(" ", 1) for part in response.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert not any("http" in sources or "unsafe-eval" in sources for sources in policy.values())
    assert "unsafe-inline" not in policy["script-src"]


def test_nothing_is_redirected(described: RunningService) -> None:
    assert described.http.get("/docs/oauth2-redirect").status_code == 200
