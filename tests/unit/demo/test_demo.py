from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from statistics import median
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from spanwise import ConfigurationError, Filter, TraceStore, UnavailableError
from spanwise.demo import CONTENT_TYPE, captures, export_requests, trace_ids
from spanwise.demo.captures import write_archive
from spanwise.demo.cast import DemoAgent, Domain, domains
from spanwise.demo.fill import FillPlan, fill, load_or_create_plan, mark_complete
from spanwise.demo.otlp_requests import write_trace
from spanwise.demo.scene import draw_words, use_tool
from spanwise.demo.scene import fill as fill_template
from spanwise.demo.schedule import schedule
from spanwise.traces.search import queries
from support.paths import OTLP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from spanwise._engine import IngestReport
    from spanwise.demo.otlp_requests import ExportRequest
    from spanwise.demo.spans import TraceWriter

CAPTURED = OTLP
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
TRACES = 800
SEED = 7


@pytest.fixture(scope="module")
def written() -> list[TraceWriter]:
    return [write_trace(trace) for trace in schedule(TRACES, SEED, NOW)]


@pytest.fixture(scope="module")
def sent() -> list[tuple[ExportRequest, list[dict[str, str]]]]:
    return [(export, list(spans_of(export.body))) for export in export_requests(TRACES, SEED, NOW)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    store = TraceStore.open(str(tmp_path / "traces"))
    yield store
    store.close()


def count(store: TraceStore, **condition: object) -> int:
    return store.query(queries.runs(Filter.compile(json.dumps(condition).encode()), 1, 1, detail="summary")).total


# The generator


def test_the_same_arguments_give_the_same_bytes() -> None:
    once, again, other = (
        [export.body for export in export_requests(100, seed, NOW)] for seed in (SEED, SEED, SEED + 1)
    )
    assert once == again
    assert once != other


def test_every_span_is_sent_once(
    written: list[TraceWriter], sent: list[tuple[ExportRequest, list[dict[str, str]]]]
) -> None:
    expected = Counter((writer.trace_id, span.id) for writer in written for span in writer.spans)
    assert Counter((span["traceId"], span["spanId"]) for _, spans in sent for span in spans) == expected


def test_exports_count_what_is_in_them(sent: list[tuple[ExportRequest, list[dict[str, str]]]]) -> None:
    assert sum(export.traces for export, _ in sent) == TRACES
    assert [len(spans) for _, spans in sent] == [export.spans for export, _ in sent]
    assert {export.spans for export, _ in sent[:-1]} == {200}
    assert all(len(export.body) < 1 << 20 for export, _ in sent)


@pytest.mark.parametrize("traces", [1, 7, 8, 9])
def test_few_traces_are_as_many_as_requested(traces: int) -> None:
    assert sum(export.traces for export in export_requests(traces, SEED, NOW)) == traces


def test_most_traces_are_in_one_request(sent: list[tuple[ExportRequest, list[dict[str, str]]]]) -> None:
    requests_of = Counter(trace_id for _, spans in sent for trace_id in {span["traceId"] for span in spans})
    assert sum(requests == 1 for requests in requests_of.values()) > 0.9 * TRACES


def test_a_trace_is_one_tree_whose_spans_lie_within_their_parents(written: list[TraceWriter]) -> None:
    for writer in written:
        spans = {span.id: span for span in writer.spans}
        assert len(spans) == len(writer.spans)
        assert sum(not span.parent_id for span in writer.spans) == 1
        for span in writer.spans:
            assert span.start < span.end
            if span.parent_id:
                parent = spans[span.parent_id]
                assert parent.start < span.start
                assert span.end < parent.end


def test_traces_lie_within_the_last_30_days(written: list[TraceWriter]) -> None:
    earliest = (NOW - timedelta(days=30)).timestamp() * 1e9
    latest = NOW.timestamp() * 1e9
    for writer in written:
        assert earliest <= writer.spans[-1].start
        assert writer.spans[-1].end < latest


def test_traces_are_of_realistic_size_and_variety(written: list[TraceWriter]) -> None:
    sizes = [len(writer.spans) for writer in written]
    durations = [(writer.spans[-1].end - writer.spans[-1].start) / 1e9 for writer in written]
    failed = [writer for writer in written if any(span.status == 2 for span in writer.spans)]
    assert (min(sizes), max(sizes)) >= (2, 25)
    assert max(sizes) <= 40
    assert 5 <= median(sizes) <= 7
    assert 1 < median(durations) < max(durations) / 5
    assert 0.03 * TRACES <= len(failed) <= 0.07 * TRACES
    assert len({writer.trace_id for writer in written}) == TRACES


def test_every_failed_trace_has_an_exception_with_its_message(written: list[TraceWriter]) -> None:
    for writer in written:
        if any(span.status == 2 for span in writer.spans):
            assert any(span.failure and span.failure.message for span in writer.spans)


def test_the_cast_is_as_large_as_promised() -> None:
    scheduled = schedule(20_000, SEED, NOW)
    users = {trace.identity.user_id for trace in scheduled} - {None}
    agents = Counter(trace.entry.subject.name for trace in scheduled if isinstance(trace.entry.subject, DemoAgent))
    assert len({trace.identity.session_id for trace in scheduled}) == 2_500
    assert 350 <= len(users) <= 400
    assert agents.most_common(1)[0][1] > 5 * median(agents.values())
    assert sum(len(domain.agents) for domain in domains()) == 50


@pytest.mark.parametrize("domain", domains(), ids=lambda domain: domain.service)
def test_every_template_can_be_filled(domain: Domain) -> None:
    rng = Random(SEED)
    words = draw_words(rng, domain, NOW)
    for question, answer in domain.turns:
        assert "{" not in f"{fill_template(question, words)}{fill_template(answer, words)}"
    assert "{" not in str(fill_template(domain.apology, words))
    for tool in domain.tools:
        use = use_tool(rng, tool, words, failing=False)
        assert json.loads(use.arguments).keys() == tool.arguments.keys()
        assert json.loads(use.result).keys() == tool.result.keys()
        for _, message in tool.failures:
            assert message.format_map(words)


@pytest.mark.parametrize("domain", domains(), ids=lambda domain: domain.service)
def test_every_named_actor_exists(domain: Domain) -> None:
    names = {agent.name for agent in domain.agents}
    assert {member for team in domain.teams for member in team.members} <= names
    assert {step.agent for workflow in domain.workflows for step in workflow.steps} <= names | {""}
    assert {tool for agent in domain.agents for tool in agent.tools} == {tool.name for tool in domain.tools}


# The captures


def test_the_bundled_captures_are_those_of_the_tests(tmp_path: Path) -> None:
    fresh = tmp_path / "captures.zip"
    write_archive(CAPTURED, fresh)
    with ZipFile(fresh) as archive:
        expected = {name: archive.read(name) for name in archive.namelist()}
    bundled = {capture.file: capture.body for capture in captures()}
    assert bundled == {name: body for name, body in expected.items() if name != "manifest.json"}
    left_out = {path.name for path in CAPTURED.iterdir()} - expected.keys()
    assert left_out == {"README.md", "ATTRIBUTES.md", "collector-json-01.json", "collector-merged-01.pb"}


def test_the_traces_of_a_captured_case_are_known() -> None:
    assert len(trace_ids("agno", "agent-tool")) == 1
    assert trace_ids("agno", "no such case") == []


# Filling a store


def test_the_engine_accepts_and_understands_every_made_up_span(store: TraceStore) -> None:
    written = [write_trace(trace) for trace in schedule(400, SEED, NOW)]
    for export in export_requests(400, SEED, NOW):
        report = store.ingest(export.body, CONTENT_TYPE)
        assert (report.accepted_spans, report.rejected_spans) == (export.spans, 0), report.reason
    failed = sum(any(span.status == 2 for span in writer.spans) for writer in written)
    assert count(store) == 400
    assert count(store, op="EQ", key="status", value="ERROR") == failed
    everything = Filter.compile(b"null")
    pages = (json.loads(store.query(queries.runs(everything, page, 100)).data) for page in range(1, 5))
    sessions = {(row["session_id"], row.get("user_id")) for page in pages for row in page}
    assert store.query(queries.sessions(everything, 1, 1)).total == len(sessions)
    assert len({session_id for session_id, _ in sessions}) == 400 // 8
    kinds = Counter(trace.entry.kind for trace in schedule(400, SEED, NOW))
    assert count(store, op="EXISTS", key="team_id") == kinds["team"]
    assert count(store, op="EXISTS", key="workflow_id") == kinds["workflow"] + kinds["planner"]
    assert count(store, op="EQ", key="name", value="POST /chat") == 0


def test_an_interrupted_filling_is_finished_without_duplicates(store: TraceStore, tmp_path: Path) -> None:
    record = tmp_path / "demo.json"
    plan = load_or_create_plan(record, 300, SEED)
    progress: list[int] = []

    def interrupt(traces: int) -> None:
        progress.append(traces)
        if len(progress) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(store, plan, interrupt)
    assert 0 < count(store) < 300
    again = load_or_create_plan(record, None, None)
    assert again == plan
    fill(store, again, progress.append)
    complete = count(store)
    captured = len({trace for capture in manifest_files() for trace in capture})
    assert complete == 300 + captured
    fill(store, again, progress.append)
    assert count(store) == complete
    mark_complete(record, again)
    assert load_or_create_plan(record, None, None).complete


def test_a_record_of_other_traces_is_rejected(tmp_path: Path) -> None:
    record = tmp_path / "demo.json"
    load_or_create_plan(record, 10, 1)
    assert load_or_create_plan(record, 10, None) == load_or_create_plan(record, None, 1)
    for traces, seed in [(11, 1), (10, 2), (None, 0)]:
        with pytest.raises(ConfigurationError, match="records 10 traces of seed 1"):
            load_or_create_plan(record, traces, seed)


def test_an_invalid_record_is_rejected(tmp_path: Path) -> None:
    record = tmp_path / "demo.json"
    record.write_text("{}")
    with pytest.raises(
        ConfigurationError, match=r"is not a valid record of the demo: .* missing required field `traces`"
    ):
        load_or_create_plan(record, None, None)


class BusyStore:
    """A store that accepts a request only after `patience` attempts."""

    def __init__(self, store: TraceStore, patience: int) -> None:
        self.store = store
        self.patience = patience
        self.sent: Counter[bytes] = Counter()

    def ingest(self, body: bytes, *headers: str | None) -> IngestReport:
        self.sent[body] += 1
        if self.sent[body] < self.patience:
            raise UnavailableError("busy")
        return self.store.ingest(body, *headers)  # type: ignore[arg-type]

    def flush(self) -> None:
        self.store.flush()


def test_a_busy_store_is_retried(store: TraceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.demo.fill._RETRY_SECONDS", 0)
    plan = FillPlan(50, SEED, NOW)
    fill(BusyStore(store, 3), plan, lambda _: None)  # type: ignore[arg-type]
    assert count(store, op="LT", key="start_time", value=NOW.isoformat()) >= 50
    with pytest.raises(UnavailableError, match="busy"):
        fill(BusyStore(store, 1_000), plan, lambda _: None)  # type: ignore[arg-type]


def manifest_files() -> Iterator[list[str]]:
    manifest = json.loads((CAPTURED / "manifest.json").read_bytes())
    for file in manifest["files"]:
        if not file["derived"]:
            yield file["trace_ids"]


def spans_of(body: bytes) -> Iterator[dict[str, str]]:
    for resource in json.loads(body)["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            yield from scope["spans"]
