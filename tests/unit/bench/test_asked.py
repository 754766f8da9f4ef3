"""The stages of indexes, texts, spans and attributes, and their part of the report."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from spanwise import Filter, TraceStore
from spanwise.bench import results
from spanwise.bench.contents import Subject, questions, windows
from spanwise.bench.contents.literals import ContentLiterals
from spanwise.bench.data import rows
from spanwise.bench.data.shape import Shape
from spanwise.bench.data.tables import TableWriter
from spanwise.bench.errors import WrongResultError
from spanwise.bench.machine import circumstances
from spanwise.bench.plan import Effort, Plan
from spanwise.bench.report import write_report
from spanwise.bench.report.figures import figures
from spanwise.bench.report.goals import GoalResult, goal_results
from spanwise.bench.results import Asked, Contents, IndexSizes, Results
from spanwise.bench.stages import asked, attributes, build, indexes, spans, texts

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = Shape(1_000, "real", 7)


def plan_at(target: Path, *peers: str) -> Plan:
    effort = Effort(runs=2, query_seconds=1, ingest_seconds=1, peers=peers)
    plan = Plan(SHAPE, effort, target, Results(SHAPE), lambda _: None)
    build.run(plan)
    return plan


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    plan = plan_at(tmp_path_factory.mktemp("measured"), "duckdb")
    for stage in (indexes, texts, spans, attributes):
        stage.run(plan)
    return plan


def test_every_question_is_answered_as_by_duckdb_and_timed(measured: Plan) -> None:
    literals = ContentLiterals(TableWriter(SHAPE).chunk(0).texts, SHAPE.seed)
    found = measured.results
    subjects: dict[Subject, Contents | None] = {
        "texts": found.texts,
        "spans": found.spans,
        "attributes": found.attributes,
    }
    for about, contents in subjects.items():
        assert contents is not None
        assert [row.title for row in contents.rows] == [question.title for question in questions(about, literals)]
        for row in contents.rows:
            assert row.total is not None
            assert [len(times) for times in (row.first, row.again, row.next_page, row.peers["duckdb"])] == [2, 2, 2, 2]


@pytest.mark.skipif(find_spec("tantivy") is None, reason="Tantivy is not installed")
def test_an_index_of_words_answers_for_words_alone(measured: Plan) -> None:
    assert measured.results.texts is not None
    answered = {row.title for row in measured.results.texts.rows if "tantivy" in row.peers}
    assert {"`refused`", "`connection refused`", "a UUID"} <= answered
    assert not {"`tion`", "`timeout` in an error", "`of the` of one agent"} & answered


def test_most_questions_find_some_traces_and_not_all(measured: Plan) -> None:
    found = [measured.results.texts, measured.results.spans, measured.results.attributes]
    totals = [row.total or 0 for contents in found if contents for row in contents.rows]
    assert sum(0 < total < SHAPE.traces for total in totals) > 0.8 * len(totals)


def test_the_indexes_are_made_anew_and_measured(measured: Plan) -> None:
    sizes = measured.results.indexes
    assert sizes is not None
    assert all(size > 0 for size in sizes.bytes.values())
    assert sizes.bytes.keys() > sizes.seconds.keys() == set(indexes.KINDS)
    (index,) = measured.store.glob("cache/*/text")
    before = index.stat().st_mtime_ns
    indexes.run(measured)
    assert index.stat().st_mtime_ns > before


def test_a_store_is_only_asked_once_its_indexes_are_there(tmp_path: Path) -> None:
    plan = plan_at(tmp_path)
    store = indexes.open_indexed(plan.store)
    stats = json.loads(store.stats())
    store.close()
    assert stats["segments"] > 0
    assert stats["segments_without_spans"] == stats["segments_without_texts"] == 0


def test_one_trace_that_is_missing_is_noticed(tmp_path: Path) -> None:
    plan = plan_at(tmp_path, "duckdb")
    store = TraceStore.open(str(plan.store))
    one = plan.rows()["trace_id"][500].as_py()
    store.delete(Filter.compile(json.dumps({"op": "EQ", "key": "trace_id", "value": one}).encode()))
    store.close()
    with pytest.raises(WrongResultError, match="spanwise finds"):
        texts.run(plan)


@pytest.fixture
def windowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    monkeypatch.setattr(rows, "CHUNK", 50)
    monkeypatch.setattr(asked, "MAX_PEER_TRACES", 500)
    monkeypatch.setattr(windows, "TRACES", 100)
    return plan_at(tmp_path, "duckdb")


def test_more_traces_than_a_peer_holds_are_compared_in_windows(windowed: Plan) -> None:
    spans.run(windowed)
    assert windowed.results.spans is not None
    assert all(row.total is not None and not row.peers for row in windowed.results.spans.rows)
    first, second, third, last = windows.windows(SHAPE)
    assert first.end < second.begin < second.end < third.begin < third.end < last.begin
    assert len(last.chunks) < rows.chunks(SHAPE) == last.chunks[-1] + 1


@pytest.mark.usefixtures("windowed")
def test_a_window_has_the_sessions_that_began_long_before_it() -> None:
    every = [rows.draw(SHAPE, chunk).starts for chunk in range(rows.chunks(SHAPE))]
    for window in windows.windows(SHAPE):
        begin, end = (
            int(datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp() * 1_000_000)
            for moment in (window.begin, window.end)
        )
        reached = [chunk for chunk, starts in enumerate(every) if ((starts >= begin) & (starts < end)).any()]
        assert set(reached) <= set(window.chunks)


def test_traces_that_are_missing_in_a_window_are_noticed(windowed: Plan) -> None:
    last = windows.windows(SHAPE)[-1]
    store = TraceStore.open(str(windowed.store))
    store.delete(Filter.compile({"op": "GTE", "key": "start_time", "value": last.begin}))
    store.close()
    with pytest.raises(WrongResultError, match="spanwise finds 0 traces"):
        spans.run(windowed)


# The report


def reported(*asked_rows: Asked) -> tuple[Results, list[GoalResult]]:
    found = Results(SHAPE, spans=Contents(list(asked_rows), circumstances(0)))
    return found, goal_results(figures([found])[0])


def test_a_goal_is_that_of_the_slowest_question_of_its_kind() -> None:
    quick = Asked("quick", "token", 5, [1.0, 2.0, 3.0], [1.0], [2.0], {"duckdb": [20.0]})
    slow = Asked("slow", "token", 5, [60.0], [1.0], [6.0], {})
    _, (word, again) = reported(quick, slow)
    assert word == GoalResult("a word or an id, asked first", "p50 at most 50 ms", "60.00 ms: slow", is_reached=False)
    assert again.result == "6.00 ms: slow"
    assert not again.is_reached
    _, goals = reported(quick)
    assert [goal.is_reached for goal in goals] == [True, True]


def test_a_question_that_was_rejected_reaches_no_goal_and_has_no_times(tmp_path: Path) -> None:
    rejected = Asked("too wide", "axes", None, [], [], [], {"duckdb": [20.0]})
    found, goals = reported(rejected)
    assert [(goal.result, goal.is_reached) for goal in goals] == [("rejected: too wide", False)]
    write_report([found], tmp_path / "report.md", None)
    assert "| too wide |  | rejected |" in (tmp_path / "report.md").read_text("utf-8")


def test_the_report_has_all_tables(measured: Plan, tmp_path: Path) -> None:
    results.write(measured.folder, measured.results)
    written = results.read(measured.folder, SHAPE)
    write_report([written], tmp_path / "report.md", None)
    text = (tmp_path / "report.md").read_text("utf-8")
    for heading in ("### The indexes", "### What was said", "### What was done", "### Attributes"):
        assert heading in text
    assert "| `refused` |" in text
    assert "| runs | DuckDB p50 |" in text
    assert "| first against the fastest |" in text


def test_sizes_are_given_for_each_trace(tmp_path: Path) -> None:
    files = {"documents": 2_000_000, "rows": 100_000, "index": 150_000, "spans": 137_000, "texts": 564_000}
    found = Results(SHAPE, indexes=IndexSizes(files, {"spans": 0.03, "texts": 0.06}, circumstances(0)))
    write_report([found], tmp_path / "report.md", None)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert "| index of texts | 1 MB | 564 B | 0.1 s | 60 us |" in text
    assert "| index of the rows | 0 MB | 150 B |  |  |" in text
