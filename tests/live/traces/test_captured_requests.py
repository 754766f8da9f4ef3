"""Everything real exporters sent comes out again, whole."""

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
"""Members of a golden answer that a row has and an answer does not show under these names."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service that was sent every captured request, in order."""
    with RunningService(tmp_path_factory.mktemp("captured") / "data") as service:
        for capture in captures():
            answer = capture.send(service.http)
            assert answer.status_code == 200, (capture.file, answer.text)
            assert answer.headers["content-type"] == capture.content_type
        yield service


def spans_of(nodes: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    waiting, found = list(nodes or []), []
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += node.get("spans") or []
    return found


def assert_whole(shown: dict[str, Any], trace: CapturedTrace) -> None:
    spans = spans_of(shown["tree"])
    assert shown["trace_id"] == trace.trace_id
    assert shown["total_spans"] == len(spans) == len({span["id"] for span in spans}) == trace.spans
    assert shown["error_count"] == sum(span["status"] == "ERROR" for span in spans) == trace.error_spans
    assert shown["status"] == ("ERROR" if trace.error_spans else "OK")


def test_a_search_without_a_filter_finds_every_trace_once(filled: RunningService) -> None:
    found = filled.trace_ids()
    assert sorted(found) == sorted(trace.trace_id for trace in captured_traces())


@pytest.mark.parametrize("trace", captured_traces(), ids=lambda trace: trace.trace_id[:8])
def test_a_trace_is_found_and_shown_with_all_its_spans(filled: RunningService, trace: CapturedTrace) -> None:
    by_id = filled.search(filter={"op": "EQ", "key": "trace_id", "value": trace.trace_id.upper()}).json()
    assert by_id["meta"]["total_count"] == 1
    assert_whole(by_id["data"][0], trace)
    shown = filled.http.get(f"/traces/{trace.trace_id}").json()
    assert shown == by_id["data"][0]
    for span in spans_of(shown["tree"])[:3]:
        alone = filled.http.get(f"/traces/{trace.trace_id}", params={"span_id": span["id"]}).json()
        assert alone == {key: value for key, value in span.items() if key != "spans"}


def golden_traces() -> list[dict[str, Any]]:
    return [trace for path in sorted(GOLDEN.glob("*.json")) for trace in json.loads(path.read_text("utf-8"))]


def as_golden(shown: Any, golden: Any) -> Any:  # any JSON
    """Returns `shown` reduced to what a golden answer keeps: its members, and the beginnings of long texts."""
    match golden:
        case dict():
            return {key: as_golden(shown.get(key), value) for key, value in golden.items()}
        case list() if len(golden) == len(shown):
            return [as_golden(*pair) for pair in zip(shown, golden, strict=True)]
        case str() if isinstance(shown, str) and len(shown) > LONGEST_KEPT:
            return f"{shown[:80]}… ({len(shown)} characters)"
    return shown


@pytest.mark.parametrize("golden", golden_traces(), ids=lambda golden: golden["trace_id"][:8])
def test_a_trace_is_shown_as_its_golden_answer(filled: RunningService, golden: dict[str, Any]) -> None:
    expected = {key: value for key, value in golden.items() if key not in COLUMNS_ONLY}
    shown = filled.http.get(f"/traces/{golden['trace_id']}").json()
    assert as_golden(shown, expected) == expected


def test_sending_everything_again_changes_nothing(filled: RunningService) -> None:
    before = filled.search(limit=100).json()["data"]
    for capture in captures():
        assert capture.send(filled.http).status_code == 200
    assert filled.search(limit=100).json()["data"] == before


def test_sessions_add_up_to_the_traces_that_have_one(filled: RunningService) -> None:
    answer = filled.search(group_by="session", limit=100).json()
    sessions = answer["data"]
    with_session = filled.search(filter={"op": "EXISTS", "key": "session_id"}, limit=1).json()["meta"]["total_count"]
    assert answer["meta"]["total_count"] == len(sessions) == len({item["session_id"] for item in sessions})
    assert sum(item["total_traces"] for item in sessions) == with_session > 0


def test_pages_add_up_to_the_whole(filled: RunningService) -> None:
    whole = filled.search(limit=100).json()["data"] + filled.search(limit=100, page=2).json()["data"]
    paged: list[dict[str, Any]] = []
    for page in range(1, 100):
        answer = filled.search(limit=7, page=page).json()
        assert answer["meta"]["page"] == page
        assert answer["meta"]["total_pages"] == -(-answer["meta"]["total_count"] // 7)
        if not answer["data"]:
            break
        paged += answer["data"]
    assert paged == whole


def test_an_accepted_export_is_answered_as_otlp_says(service: RunningService) -> None:
    capture = next(capture for capture in captures() if capture.content_type == "application/x-protobuf")
    answer = ExportTraceServiceResponse.FromString(capture.send(service.http).content)
    assert not answer.HasField("partial_success")
    empty = service.http.post("/v1/traces", content=b"", headers={"Content-Type": "application/x-protobuf"})
    assert (empty.status_code, empty.content) == (200, b"")
    empty = service.http.post("/v1/traces", content=b"{}", headers={"Content-Type": "application/json"})
    assert (empty.status_code, empty.json()) == (200, {})
