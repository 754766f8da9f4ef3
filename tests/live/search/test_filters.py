"""The golden filters over HTTP, with traces ingested as OTLP."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from support.paths import CASES
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON = {"Content-Type": "application/json"}
EPOCH = datetime.fromisoformat("1970-01-01T00:00:00Z")
MILLISECOND = timedelta(milliseconds=1)
MICROSECOND = timedelta(microseconds=1)
ATTRIBUTES = {
    "user_id": "user.id",
    "session_id": "session.id",
    "run_id": "agno.run.id",
    "agent_id": "agno.agent.id",
    "team_id": "agno.team.id",
    "workflow_id": "agno.workflow.id",
}


def cases(file: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CASES / file).read_text("utf-8"))
    return found


def nanoseconds(time: str) -> int:
    return (datetime.fromisoformat(time) - EPOCH) // MICROSECOND * 1000


def can_be_sent(row: dict[str, Any]) -> bool:
    """Returns True if a span can produce this row. Some golden rows are extremes of their columns."""
    lasted = datetime.fromisoformat(row["end_time"]) - datetime.fromisoformat(row["start_time"])
    return bool(lasted // MILLISECOND == row["duration_ms"] and row["start_time"] >= "1970")


def export_of(row: dict[str, Any]) -> dict[str, Any]:
    given = {name: row[key] for key, name in ATTRIBUTES.items() if row[key] is not None}
    span = {
        "traceId": row["trace_id"],
        "spanId": "00000000000000a1",
        "name": row["name"],
        "startTimeUnixNano": str(nanoseconds(row["start_time"])),
        "endTimeUnixNano": str(nanoseconds(row["end_time"])),
        "status": {"code": 2 if row["status"] == "ERROR" else 1},
        "attributes": [
            {"key": key, "value": {"stringValue": value}}
            for key, value in {"openinference.span.kind": "CHAIN", **given}.items()
        ],
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


SENT = {row["trace_id"]: row for row in cases("matches.json")["rows"] if can_be_sent(row)}
NOT_SENT = ("created_at", "total_spans", "error_count", "tokens", "calls", "service", "environment", "release")
"""Columns whose golden values a single span cannot produce."""
REQUEST_CASES = [
    case for case in cases("matches.json")["cases"] if not any(column in json.dumps(case) for column in NOT_SENT)
]


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("golden") / "data") as service:
        for row in SENT.values():
            service.http.post("/v1/traces", json=export_of(row)).raise_for_status()
        yield service


def test_most_golden_rows_can_be_sent() -> None:
    assert len(SENT) >= 10


@pytest.mark.parametrize("case", REQUEST_CASES, ids=lambda case: str(case["filter"])[:60])
def test_a_search_finds_the_rows_that_match(golden: RunningService, case: dict[str, Any]) -> None:
    expected = {trace_id for trace_id, row in SENT.items() if row["id"] in case["matches"]}
    found = golden.trace_ids(filter=case["filter"])
    assert set(found) == expected
    assert len(found) == len(expected)


def test_a_found_row_shows_what_was_asked_for(golden: RunningService) -> None:
    for item in golden.search(limit=100).json()["data"]:
        row = SENT[item["trace_id"]]
        for key in ("name", "status", *ATTRIBUTES):
            assert item.get(key) == row[key], key
        for key in ("start_time", "end_time"):
            assert datetime.fromisoformat(item[key]) == datetime.fromisoformat(row[key])


@pytest.mark.parametrize("case", cases("filters.json")["cases"], ids=lambda case: str(case["filter"])[:60])
@pytest.mark.parametrize("group_by", ["run", "session"])
def test_an_accepted_filter_is_200(golden: RunningService, case: dict[str, Any], group_by: str) -> None:
    assert golden.search(filter=case["filter"], group_by=group_by, limit=1).status_code == 200


@pytest.mark.parametrize("case", cases("rejected_filters.json")["cases"], ids=lambda case: case["source"][:60])
def test_a_rejected_filter_is_400_or_no_json_object(golden: RunningService, case: dict[str, str]) -> None:
    body = b'{"filter":' + case["source"].encode("utf-8", "surrogatepass") + b"}"
    response = golden.http.post("/traces/search", content=body, headers=JSON)
    if response.status_code == 422:
        assert not case["source"].startswith("{") or case["message"].startswith("invalid JSON")
    else:
        assert response.status_code == 400
        assert response.json()["detail"] == f"{case['message']} - at `{case['path']}`"
