"""Indexes built from a segment in several parts give the same results as its documents."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from spanwise import Filter, TraceStore
from spanwise.demo import CONTENT_TYPE, export_requests
from spanwise.traces.search import queries

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TRACES = 2_000
"""Their documents take more than two mebibytes, which makes two parts."""
INDEXES = ("spans", "texts", "attributes")
TOOL = {"op": "EQ", "key": "type", "value": "TOOL"}
QUESTIONS: list[dict[str, Any]] = [
    *({"op": "CONTAINS", "key": "text", "value": value} for value in ("refund", "the", "tion", "a7", "order")),
    {"op": "SPAN", "where": TOOL, "at_least": 2},
    {"op": "SPAN", "where": {"op": "GT", "key": "duration_ms", "value": 500}},
    {"op": "EQ", "key": "resource.service.name", "value": "helpdesk"},
]


def filled(folder: Path, indexes: list[str]) -> TraceStore:
    store = TraceStore.open(str(folder), json.dumps({"indexes": indexes}).encode())
    for export in export_requests(TRACES, 7, NOW):
        store.ingest(export.body, CONTENT_TYPE)
    store.flush()
    return store


def without_index(store: TraceStore) -> list[int]:
    stats = json.loads(store.stats())
    return [stats[f"segments_without_{index}"] for index in INDEXES]


def test_indexes_made_in_parts_answer_as_the_documents_do(tmp_path: Path) -> None:
    indexed, plain = filled(tmp_path / "indexed", list(INDEXES)), filled(tmp_path / "plain", [])
    end = time.monotonic() + 60
    while any(without_index(indexed)):
        assert time.monotonic() < end, without_index(indexed)
        time.sleep(0.05)
    assert without_index(plain) == [1, 1, 1]
    for question in QUESTIONS:
        compiled = Filter.compile(question)
        found, expected = (store.query(queries.ids(compiled, 1, 100)) for store in (indexed, plain))
        assert found.total == expected.total > 0, question
        assert found.data == expected.data, question
    indexed.close()
    plain.close()
    report = json.loads(TraceStore.check(str(tmp_path / "indexed")))
    assert (report["indexes"], report["other_indexes"]) == (4, [])
