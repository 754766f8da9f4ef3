"""The generated texts and spans, and the queries over them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise import Filter
from spanwise.bench.contents import Question, compare, installed_peers, questions
from spanwise.bench.contents.literals import ContentLiterals
from spanwise.bench.contents.sql import has_axes, spellings
from spanwise.bench.data import rows
from spanwise.bench.data.documents import Writer
from spanwise.bench.data.shape import Shape
from spanwise.bench.data.tables import FIELDS, Tables, TableWriter
from spanwise.bench.errors import WrongResultError
from spanwise.bench.peers import QueryResult

SHAPE = Shape(4_000, "real", 7)
SMALL = Shape(500, "real", 7)
KINDS = {"AGENT": "AGENT", "LLM": "LLM", "TOOL": "TOOL", "CHAIN": "WORKFLOW"}


@pytest.fixture(scope="module")
def tables() -> Tables:
    return TableWriter(SHAPE).chunk(0)


def share(texts: pa.Table, pattern: str) -> float:
    found = pc.match_substring(texts["text"], spellings(pattern)[0])
    for spelling in spellings(pattern)[1:]:
        found = pc.or_(found, pc.match_substring(texts["text"], spelling))
    return float(pc.count_distinct(texts["trace"].filter(found)).as_py()) / SHAPE.traces


# The data


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        ("the", 0.98, 1),
        ("e", 1, 1),
        ("tion", 0.85, 0.98),
        ("ing", 0.85, 0.98),
        ("err", 0.15, 0.4),
        ("error", 0.15, 0.3),
        ("customer_id", 0.2, 0.4),
        ("a7", 0.3, 0.6),
        ("qz", 0.03, 0.12),
        ("2026-11-0", 0.08, 0.2),
        ("example.com", 0.3, 0.5),
        ("of the", 0.4, 0.75),
        ("you are a", 0.15, 0.35),
        ('"status": "failed"', 0.05, 0.15),
        ("refused", 0.01, 0.05),
        ("timeout", 0.03, 0.08),
        ("rate limit exceeded", 0.005, 0.03),
        ("permission denied", 0.001, 0.01),
        ("config file", 0.001, 0.01),
        ("max retries exceeded with", 0.001, 0.01),
        ("could not", 0.01, 0.05),
        ("の", 0.05, 0.09),
        ("システム", 0.005, 0.04),
        ("安装", 0.0005, 0.01),
        ("zzzqqq", 0, 0),
    ],
)
def test_a_pattern_is_in_its_share_of_the_traces(tables: Tables, pattern: str, least: float, most: float) -> None:
    assert least <= share(tables.texts, pattern) <= most


def test_an_id_belongs_to_one_trace(tables: Tables) -> None:
    literals = ContentLiterals(tables.texts, 1)
    for name in ("uuid", "customer", "symbol"):
        assert 1 <= share(tables.texts, str(literals.draw(name))) * SHAPE.traces <= 4, name


def test_each_call_of_a_model_repeats_the_conversation(tables: Tables) -> None:
    models = tables.spans.filter(pc.equal(tables.spans["type"], "LLM")).select(["trace", "place"])
    inputs = tables.texts.filter(pc.equal(tables.texts["field"], "input"))
    said = inputs.join(models, ["trace", "place"], join_type="inner").sort_by(
        [("trace", "ascending"), ("place", "ascending")]
    )
    repeated = 0
    previous: dict[str, Any] = {"trace": -1}
    for row in said.to_pylist():
        if row["trace"] == previous["trace"]:
            repeated += 1
            assert row["text"].startswith(previous["text"].removesuffix("]}"))
        previous = row
    assert repeated > SHAPE.traces


def test_a_few_tools_fail_and_mostly_within_their_traces(tables: Tables) -> None:
    tools = tables.spans.filter(pc.equal(tables.spans["type"], "TOOL"))
    failed = tools.filter(pc.equal(tools["status"], "ERROR"))
    assert 0.01 < failed.num_rows / tools.num_rows < 0.05
    model_after = (
        tables.spans.filter(pc.equal(tables.spans["type"], "LLM")).group_by("trace").aggregate([("place", "max")])
    )
    joined = failed.join(model_after, "trace", join_type="inner")
    followed = pc.sum(pc.greater(joined["place_max"], joined["place"])).as_py()
    assert 0.3 < followed / failed.num_rows < 0.9


def test_the_tables_say_what_the_requests_say() -> None:
    shape = SMALL
    drawn = rows.draw(shape, 0)
    made = TableWriter(shape).chunk(0)
    ordered = rows.newest_first([rows.to_table(drawn)])["trace_id"].to_pylist()
    bodies = [ExportTraceServiceRequest.FromString(request.body) for request in Writer(shape).requests(drawn, 0)]
    sent = [span for body in bodies for span in body.resource_spans[0].scope_spans[0].spans]
    spans, texts = Counter[object](), Counter[object]()
    for span in sent:
        values = {pair.key: pair.value.string_value or pair.value.int_value for pair in span.attributes}
        kind = KINDS[str(values["openinference.span.kind"])]
        kind = "TEAM" if "agno.team.id" in values else kind
        times = span.start_time_unix_nano // 1_000, span.end_time_unix_nano // 1_000
        tokens = values.get("llm.token_count.prompt"), values.get("llm.token_count.completion")
        words = (
            span.name,
            kind,
            "ERROR" if span.status.code else "OK",
            values.get("tool.name"),
            values.get("llm.model_name"),
        )
        spans[span.trace_id.hex(), *words, *tokens, *times] += 1
        error = span.status.message or None
        for field, value in zip(FIELDS, (values.get("input.value"), values.get("output.value"), error), strict=True):
            if value is not None:
                texts[span.trace_id.hex(), field, str(value).lower()] += 1
    columns = ("name", "type", "status", "tool_name", "model", "input_tokens", "output_tokens", "start", "end")
    assert spans == Counter((ordered[row["trace"]], *(row[key] for key in columns)) for row in made.spans.to_pylist())
    assert texts == Counter((ordered[row["trace"]], row["field"], row["text"]) for row in made.texts.to_pylist())


def test_the_places_of_spans_are_those_of_their_tree(tables: Tables) -> None:
    by_trace: dict[int, list[dict[str, Any]]] = {}
    for row in tables.spans.to_pylist():
        by_trace.setdefault(row["trace"], []).append(row)
    for spans in by_trace.values():
        assert [span["place"] for span in spans] == list(range(len(spans)))
        for span in spans:
            below = {span["place"]}
            for other in spans[span["place"] :]:
                below |= {other["place"]} if other["parent"] in below else set()
            assert below == set(range(span["place"], span["last"] + 1))


# The queries


def test_every_question_compiles_and_has_a_name_of_its_own(tables: Tables) -> None:
    asked = [
        question for about in ("texts", "spans") for question in questions(about, ContentLiterals(tables.texts, 1))
    ]
    for question in asked:
        source = msgspec.json.encode(question.filter)
        Filter.compile(source)
        assert b'"$' not in source
    assert len({question.title for question in asked}) == len(asked)


def test_the_spellings_of_a_pattern_are_those_of_json() -> None:
    assert spellings("Refused") == ["refused"]
    assert spellings('"a"') == ['"a"', r"\"a\"", r"\\\"a\\\""]
    assert spellings("安") == ["安", r"\u5b89", r"\\u5b89"]


def test_axes_are_seen_at_any_depth() -> None:
    below = {"op": "NOT", "condition": {"op": "PRECEDED_BY", "where": {"op": "EQ", "key": "type", "value": "LLM"}}}
    assert has_axes({"op": "SPAN", "where": {"op": "AND", "conditions": [below]}})
    assert not has_axes({"op": "SPAN", "where": {"op": "EQ", "key": "name", "value": "CHILD of"}})


def test_a_peer_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr("spanwise.bench.contents.find_spec", lambda name: name == "tantivy" or None)
    assert installed_peers("texts", ("duckdb",), lines.append) == ["duckdb", "tantivy"]
    assert lines == ["texts: chdb is not installed, and left out"]
    assert installed_peers("spans", (), lines.append) == []


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (QueryResult(["a", "b"], 3), "other finds 3 traces, DuckDB 2"),
        (QueryResult(["b", "a"], 2), "other has `b` at index 0, DuckDB `a`"),
        (QueryResult(["a"], 2), "other has `None` at index 1, DuckDB `b`"),
    ],
)
def test_a_different_answer_ends_the_bench(found: QueryResult, message: str) -> None:
    with pytest.raises(WrongResultError, match=message):
        compare(Question("all", "spans", {}), QueryResult(["a", "b"], 2), "other", found)
