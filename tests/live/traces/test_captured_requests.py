"""Every captured request of a real exporter is returned completely."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from support.clients.otlp import captured_traces, captures
from support.paths import CASES
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.clients.otlp import CapturedTrace

GOLDEN = CASES / "traces"
LONGEST_KEPT = 200
COLUMNS_ONLY = {"duration_ms", "input_tokens", "output_tokens"}
"""Members of a golden row that responses lack under these names."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with every captured request, sent in order."""
    with RunningService(tmp_path_factory.mktemp("captured") / "data") as service:
        for capture in captures():
            response = capture.send(service.http)
            assert response.status_code == 200, (capture.file, response.text)
            assert response.headers["content-type"] == capture.content_type
        yield service


def spans_of(nodes: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    waiting, found = list(nodes or []), []
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += node.get("spans") or []
    return found


def assert_whole(trace_json: dict[str, Any], trace: CapturedTrace) -> None:
    spans = spans_of(trace_json["tree"])
    assert trace_json["trace_id"] == trace.trace_id
    assert trace_json["total_spans"] == len(spans) == len({span["id"] for span in spans}) == trace.spans
    assert trace_json["error_count"] == sum(span["status"] == "ERROR" for span in spans) == trace.error_spans
    assert trace_json["status"] == ("ERROR" if trace.error_spans else "OK")


def test_a_search_without_a_filter_finds_every_trace_once(filled: RunningService) -> None:
    found = filled.trace_ids()
    assert sorted(found) == sorted(trace.trace_id for trace in captured_traces())


@pytest.mark.parametrize("trace", captured_traces(), ids=lambda trace: trace.trace_id[:8])
def test_a_trace_is_returned_with_all_its_spans(filled: RunningService, trace: CapturedTrace) -> None:
    by_id = filled.search(filter={"op": "EQ", "key": "trace_id", "value": trace.trace_id.upper()}).json()
    assert by_id["meta"]["total_count"] == 1
    assert_whole(by_id["data"][0], trace)
    trace_json = filled.http.get(f"/traces/{trace.trace_id}").json()
    assert trace_json == by_id["data"][0]
    for span in spans_of(trace_json["tree"])[:3]:
        alone = filled.http.get(f"/traces/{trace.trace_id}", params={"span_id": span["id"]}).json()
        for member in ("messages", "subtree", "price"):  # only a single span shows them
            alone.pop(member, None)
        assert alone == {key: value for key, value in span.items() if key != "spans"}


def golden_traces() -> list[dict[str, Any]]:
    return [trace for path in sorted(GOLDEN.glob("*.json")) for trace in json.loads(path.read_text("utf-8"))]


def as_golden(trace_json: Any, golden: Any) -> Any:  # any JSON
    """Returns a trace reduced to the contents of a golden file: its members, and the beginnings of long texts."""
    match golden:
        case dict():
            return {key: as_golden(trace_json.get(key), value) for key, value in golden.items()}
        case list() if len(golden) == len(trace_json):
            return [as_golden(*pair) for pair in zip(trace_json, golden, strict=True)]
        case str() if isinstance(trace_json, str) and len(trace_json) > LONGEST_KEPT:
            return f"{trace_json[:80]}… ({len(trace_json)} characters)"
    return trace_json


@pytest.mark.parametrize("golden", golden_traces(), ids=lambda golden: golden["trace_id"][:8])
def test_a_trace_equals_its_golden_file(filled: RunningService, golden: dict[str, Any]) -> None:
    expected = {key: value for key, value in golden.items() if key not in COLUMNS_ONLY}
    trace_json = filled.http.get(f"/traces/{golden['trace_id']}").json()
    assert as_golden(trace_json, expected) == expected


def test_sending_everything_again_changes_nothing(filled: RunningService) -> None:
    before = filled.search(limit=100).json()["data"]
    for capture in captures():
        assert capture.send(filled.http).status_code == 200
    assert filled.search(limit=100).json()["data"] == before


def test_sessions_add_up_to_the_traces_that_have_one(filled: RunningService) -> None:
    response = filled.search(group_by="session", limit=100).json()
    sessions = response["data"]
    with_session = filled.search(filter={"op": "EXISTS", "key": "session_id"}, limit=1).json()["meta"]["total_count"]
    assert (
        response["meta"]["total_count"]
        == len(sessions)
        == len({(item["session_id"], item.get("user_id")) for item in sessions})
    )
    assert sum(item["total_traces"] for item in sessions) == with_session > 0


def test_pages_add_up_to_the_whole(filled: RunningService) -> None:
    whole = filled.search(limit=100).json()["data"] + filled.search(limit=100, page=2).json()["data"]
    paged: list[dict[str, Any]] = []
    for page in range(1, 100):
        response = filled.search(limit=7, page=page).json()
        assert response["meta"]["page"] == page
        assert response["meta"]["total_pages"] == -(-response["meta"]["total_count"] // 7)
        if not response["data"]:
            break
        paged += response["data"]
    assert paged == whole


def test_an_accepted_export_is_answered_as_otlp_says(service: RunningService) -> None:
    capture = next(capture for capture in captures() if capture.content_type == "application/x-protobuf")
    response = ExportTraceServiceResponse.FromString(capture.send(service.http).content)
    assert not response.HasField("partial_success")
    empty = service.http.post("/v1/traces", content=b"", headers={"Content-Type": "application/x-protobuf"})
    assert (empty.status_code, empty.content) == (200, b"")
    empty = service.http.post("/v1/traces", content=b"{}", headers={"Content-Type": "application/json"})
    assert (empty.status_code, empty.json()) == (200, {})
