from __future__ import annotations

import json
import shutil
import sys
from collections import Counter, defaultdict
from itertools import islice
from statistics import median
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest
from click.testing import CliRunner
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise import ConfigurationError, Filter, TraceStore
from spanwise.bench import aggregates, results
from spanwise.bench.aggregates import Cell
from spanwise.bench.data import row_segments, rows
from spanwise.bench.data.documents import SPANS_A_REQUEST, Request, Writer
from spanwise.bench.data.literals import Literals
from spanwise.bench.data.otlp_encoding import CONTENT_TYPE, attribute, varint
from spanwise.bench.data.shape import DAYS, LATEST, MICROSECONDS_A_DAY, Shape
from spanwise.bench.errors import WrongResultError
from spanwise.bench.peers import PEERS, Query, QueryResult, open_peer
from spanwise.bench.plan import Effort, Plan
from spanwise.bench.queries import bind_literals, fill, query_templates
from spanwise.bench.report import BY_HAND, write_report
from spanwise.bench.report.figures import DataSet, largest_compared
from spanwise.bench.report.readme import BEGIN, END, rewrite
from spanwise.bench.service import load_generator
from spanwise.bench.stages import aggregate, build, check, engine
from spanwise.bench.tables import geometric_mean, milliseconds, percentile, ratio
from spanwise.cli import commands
from spanwise.traces.search import queries

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

REAL = Shape(800, "real", 7)
SMALL = Shape(800, "small", 7)
EFFORT = Effort(runs=1, query_seconds=1, ingest_seconds=1, peers=PEERS)


class Sent(NamedTuple):
    """Requests and the spans in them."""

    requests: list[Request]
    spans: list[Any]


def write(shape: Shape) -> Sent:
    requests = list(Writer(shape).requests(rows.draw(shape, 0), 0))
    decoded = [ExportTraceServiceRequest.FromString(request.body) for request in requests]
    return Sent(requests, [span for body in decoded for span in body.resource_spans[0].scope_spans[0].spans])


@pytest.fixture(scope="module")
def sent() -> Sent:
    return write(REAL)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    shape = Shape(5_000, "small", 7)
    return rows.newest_first([rows.to_table(rows.draw(shape, 0))])


def plan_of(shape: Shape, target: Path) -> Plan:
    return Plan(shape, EFFORT, target, results.Results(shape), lambda _: None)


# The data


def test_the_same_seed_gives_the_same_bytes() -> None:
    once, again, other = ([request.body for request in write(Shape(300, "real", seed)).requests] for seed in (7, 7, 8))
    assert once == again
    assert once != other


def test_the_shape_of_the_rows(table: pa.Table) -> None:
    columns = {name: table[name].to_pylist() for name in table.column_names}
    assert len(set(columns["trace_id"])) == 5_000
    assert 0.03 < columns["status"].count("ERROR") / 5_000 < 0.07
    assert 500 < len(set(columns["session_id"])) <= 626
    assert len(set(columns["user_id"])) <= 101
    assert None in columns["user_id"]
    assert None in columns["session_id"]
    assert None in columns["agent_id"]
    busiest = Counter(columns["agent_id"]).most_common(1)[0][1]
    assert busiest > 5 * median(Counter(columns["agent_id"]).values())
    starts = table["start_time"].cast("int64").to_pylist()
    latest = int(LATEST.timestamp()) * 1_000_000
    assert starts == sorted(starts, reverse=True)
    assert latest - DAYS * MICROSECONDS_A_DAY <= starts[-1]
    assert starts[0] < latest + MICROSECONDS_A_DAY


def test_the_traces_of_a_session_are_near_each_other(table: pa.Table) -> None:
    starts: dict[str, list[int]] = defaultdict(list)
    for session, start in zip(
        table["session_id"].to_pylist(), table["start_time"].cast("int64").to_pylist(), strict=True
    ):
        if session:
            starts[session].append(start)
    assert max(max(times) - min(times) for times in starts.values()) < MICROSECONDS_A_DAY / 2
    assert max(len(times) for times in starts.values()) > 10


def test_real_documents_have_real_sizes(sent: Sent) -> None:
    sizes = Counter(span.trace_id for span in sent.spans)
    assert 5 <= median(sizes.values()) <= 7
    assert max(sizes.values()) > 20
    assert 900 < sum(len(request.body) for request in sent.requests) / len(sent.spans) < 1_200
    assert [request.spans >= SPANS_A_REQUEST for request in sent.requests[:-1]] == [True] * (len(sent.requests) - 1)
    small = write(SMALL)
    assert len(small.spans) == 800
    assert sum(len(request.body) for request in small.requests) / 800 < 500


def test_every_trace_is_one_tree_whose_spans_lie_within_their_parents(sent: Sent) -> None:
    spans = {(span.trace_id, span.span_id): span for span in sent.spans}
    assert len(spans) == len(sent.spans)
    for span in sent.spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if span.parent_span_id:
            parent = spans[span.trace_id, span.parent_span_id]
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
    roots = Counter(span.trace_id for span in sent.spans if not span.parent_span_id)
    assert set(roots.values()) == {1}
    assert len(roots) == 800


@pytest.mark.parametrize("shape", [REAL, SMALL], ids=["real", "small"])
def test_the_engine_derives_the_rows_that_were_drawn(shape: Shape, tmp_path: Path) -> None:
    store = TraceStore.open(str(tmp_path / "traces"))
    for request in write(shape).requests:
        assert store.ingest(request.body, CONTENT_TYPE).accepted_spans == request.spans
    found: list[dict[str, Any]] = []
    for page in range(1, 9):
        found += json.loads(store.query(queries.runs(Filter.compile(b"{}"), page, 100, detail="summary")).data)
    store.close()
    drawn = rows.newest_first([rows.to_table(rows.draw(shape, 0))]).to_pylist()
    for item, row in zip(found, drawn, strict=True):
        for key in ("trace_id", "run_id", "session_id", "user_id", "agent_id", "name", "status"):
            assert item.get(key) == row[key]
        assert item["start_time"].rstrip("Z")[:19] == row["start_time"].isoformat()[:19]


def test_repeated_requests_are_always_new() -> None:
    made = load_generator.bodies()[:3]
    assert {len(body.offsets) for body in made} == {SPANS_A_REQUEST}
    sender = load_generator.Sender(0, made, 1)
    seen: set[bytes] = set()
    for _, body in islice(sender.fresh_bodies(), 6):
        decoded = ExportTraceServiceRequest.FromString(body.content.tobytes())
        ids = {span.trace_id for span in decoded.resource_spans[0].scope_spans[0].spans}
        assert not ids & seen
        seen |= ids


@pytest.mark.parametrize(("number", "encoded"), [(0, "00"), (127, "7f"), (128, "8001"), (16_383, "ff7f")])
def test_a_varint(number: int, encoded: str) -> None:
    assert varint(number).hex() == encoded


def test_an_attribute() -> None:
    assert attribute("a", "b").hex() == "4a080a01611203" + "0a0162"
    assert attribute("a", 5, 1).hex() == "0a070a01611202" + "1805"


# The queries


def test_every_query_compiles_and_has_literals_of_its_own(table: pa.Table) -> None:
    literals = Literals(table, 1)
    for template in query_templates(Shape(10_000_000, "small", 7)):
        sources = [msgspec.json.encode(query.filter) for query in islice(bind_literals(template, literals), 5)]
        for source in sources:
            Filter.compile(source)
        has_literal = b"$" in msgspec.json.encode(template.filter)
        assert len(set(sources)) == (5 if has_literal else 1), template.title
        assert not any(b"$" in source for source in sources)


def test_the_deep_pages_are_those_that_have_one() -> None:
    deep = {
        traces: [template.title for template in query_templates(Shape(traces, "small", 7)) if template.page > 1]
        for traces in (1_000_000, 10_000_000)
    }
    assert deep[1_000_000] == ["seven days, page 5,000", "match all, page 5,000"]
    assert len(deep[10_000_000]) == 4


def test_the_pages_of_a_filter_are_asked_with_the_same_literals(tmp_path: Path) -> None:
    plan = plan_of(Shape(5_000, "small", 7), tmp_path)
    build.run(plan)
    engine.run(plan)
    assert plan.results.engine is not None
    totals = {row.title: row.total for row in plan.results.engine.rows}
    assert totals["seven days, page 25"] == totals["seven days"]
    assert totals["seven days"] != totals["match all"] == totals["match all, page 25"] == 5_000


def test_a_literal_that_stands_twice_is_the_same(table: pa.Table) -> None:
    template: Any = {"both": ["$hour.begin", "$hour.begin"], "many": {"$repeat": 3, "$of": "$trace_id"}}
    filled: Any = fill(template, Literals(table, 1))
    assert filled["both"][0] == filled["both"][1]
    assert len(set(filled["many"])) == 3


def test_the_peers_agree_on_every_query(table: pa.Table) -> None:
    engines = {name: open_peer(name, table) for name in PEERS}
    literals = Literals(table, 2)
    for template in query_templates(Shape(5_000, "small", 7)):
        for query in islice(bind_literals(template, literals), 3):
            answers = {name: peer.prepare(query)() for name, peer in engines.items()}
            for name, answer in answers.items():
                check.compare(query, answers["duckdb"], name, answer)
            assert answers["duckdb"].total >= len(answers["duckdb"].ids)
    for peer in engines.values():
        peer.close()


def test_aggregations_of_all_engines_agree(tmp_path: Path) -> None:
    plan = plan_of(Shape(1_000, "small", 7), tmp_path)
    build.run(plan)
    aggregate.run(plan)
    assert plan.results.aggregate is not None
    rows = {row.title: row for row in plan.results.aggregate.rows}
    assert list(rows) == [question.title for question in aggregates.questions()]
    assert rows["everything, all together"].total == rows["everything, ten agents"].total == 1_000
    assert 0 < rows["agent_id EQ, ten agents"].total < rows["name CONTAINS, ten agents"].total < 1_000
    assert {"spanwise", "duckdb", "polars"} <= rows["everything, all together"].times.keys()


@pytest.mark.parametrize("found", [Cell(2, 1, 5.0), Cell(1, 0, 5.0), Cell(1, 1, 5.1)])
def test_a_different_cell_ends_the_bench(found: Cell) -> None:
    with pytest.raises(WrongResultError, match="DuckDB"):
        aggregates.compare(aggregates.questions()[0], {(0, 1): Cell(1, 1, 5.0)}, "other", {(0, 1): found})


# The stages


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (QueryResult(["a", "b"], 3), "finds 3 items, DuckDB 2"),
        (QueryResult(["b", "a"], 2), "has `b` at index 0, DuckDB `a`"),
        (QueryResult(["a"], 2), "has 1 items on the page, DuckDB 2"),
    ],
)
def test_a_different_result_ends_the_bench(found: QueryResult, message: str) -> None:
    with pytest.raises(WrongResultError, match=message):
        check.compare(Query({}), QueryResult(["a", "b"], 2), "other", found)


def test_the_check_notices_one_trace_that_is_missing(tmp_path: Path) -> None:
    plan = plan_of(Shape(1_000, "small", 7), tmp_path)
    build.run(plan)
    check.run(plan)
    assert plan.results.check is not None
    assert set(plan.results.check.answers) == {template.title for template in query_templates(plan.shape)}
    store = TraceStore.open(str(plan.store))
    one = plan.rows()["trace_id"][500].as_py()
    store.delete(Filter.compile(json.dumps({"op": "EQ", "key": "trace_id", "value": one}).encode()))
    store.close()
    with pytest.raises(WrongResultError, match="spanwise finds"):
        check.run(plan)


def test_rows_without_documents_are_searched_and_have_no_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "CHUNK", 200)
    monkeypatch.setattr(row_segments, "SEGMENT", 600)
    plan = plan_of(Shape(1_000, "none", 7), tmp_path)
    build.run(plan)
    check.run(plan)
    assert plan.rows().num_rows == 1_000
    store = TraceStore.open(str(plan.store))
    stats = json.loads(store.stats())
    every = Filter.compile(b"{}")
    page = json.loads(store.query(queries.runs(every, 1, 20)).data)
    assert {(row["damaged"], len(row["tree"])) for row in page} == {(True, 0)}
    assert store.query(queries.ids(every, 1, 20)).total == 1_000
    store.close()
    assert stats["segments"] == 2


def test_a_stage_that_needs_documents_reports_it(tmp_path: Path) -> None:
    answer = CliRunner().invoke(
        commands, ["bench", "--documents", "none", "--only", "build", "--only", "http", "--target", str(tmp_path)]
    )
    assert answer.exit_code == 1
    assert "the stage `http` needs documents" in answer.output


def test_an_interrupted_build_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "CHUNK", 200)
    plan = plan_of(Shape(1_000, "small", 7), tmp_path)
    send = build.send
    sends: list[int] = []

    def interrupted(store: TraceStore, request: Request) -> None:
        sends.append(request.spans)
        if len(sends) == 3:
            raise KeyboardInterrupt
        send(store, request)

    monkeypatch.setattr(build, "send", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build.run(plan)
    build.run(plan)
    assert plan.results.build is not None
    assert plan.results.build.spans == 1_000
    assert len(sends) == 6
    check.run(plan)


def test_a_disk_that_is_too_full_is_named_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 30))
    plan = plan_of(Shape(1_000_000, "real", 7), tmp_path)
    with pytest.raises(
        ConfigurationError, match=r"1,000,000 traces .* need 7,\d\d\d MiB of disk .* 1,024 MiB are free"
    ):
        build.run(plan)


# The measurements


def test_a_percentile_is_one_of_the_times() -> None:
    times = [float(number) for number in range(1, 101)]
    assert percentile(times, 0.99) == 99
    assert percentile(times, 0.5) == 50
    assert percentile([3.0], 0.99) == 3
    assert geometric_mean([2, 8]) == pytest.approx(4)
    assert [milliseconds(value) for value in (0.01234, 1.234, 123.4)] == ["0.012 ms", "1.23 ms", "123 ms"]
    assert [ratio(value) for value in (0.0028, 0.016, 1.25, 52.4)] == ["0.003x", "0.02x", "1.2x", "52x"]


def test_a_readme_without_the_region_is_rejected(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"{END} {BEGIN}")
    with pytest.raises(ConfigurationError, match="expected a region between"):
        rewrite(readme, [])


def test_the_readme_shows_the_largest_store_beside_peers_and_of_equal_ones_the_real_one() -> None:
    shapes = [(1_000, "real", 2.0), (5_000, "small", 3.0), (5_000, "real", 1.5), (9_000, "none", None)]
    sets = [DataSet(traces, documents, 7, {}, geometric_mean=mean) for traces, documents, mean in shapes]  # type: ignore[arg-type]
    for ordered in (sets, sets[::-1]):
        found = largest_compared(ordered)
        assert (found.traces, found.documents) == (5_000, "real")
    assert largest_compared(sets[3:]).traces == 9_000


# The command


def test_the_command_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    answer = CliRunner().invoke(commands, ["bench"])
    assert answer.exit_code == 1
    assert "missing packages: duckdb, polars" in answer.output
    assert "pip install 'spanwise[bench]'" in answer.output


def test_a_stage_without_a_store_reports_it(tmp_path: Path) -> None:
    answer = CliRunner().invoke(commands, ["bench", "--only", "check", "--target", str(tmp_path)])
    assert answer.exit_code == 1
    assert "run `--only build` first" in answer.output


def test_what_was_written_by_hand_is_kept_in_a_report(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    write_report([], report, None)
    written = report.read_text("utf-8")
    report.write_text(f"{written}\n{BY_HAND}\n\n## Elsewhere\n", "utf-8")
    for _ in range(2):
        write_report([], report, None)
        assert report.read_text("utf-8") == f"{written}\n{BY_HAND}\n\n## Elsewhere\n"
