"""Import of exports from other programs: every span of a file becomes an equal span of the store."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from spanwise import Filter, TraceStore
from spanwise.cli import commands
from spanwise.traces.search import queries
from support.paths import IMPORTS, OTLP

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = Filter.compile(b"{}")
JAEGER = IMPORTS / "jaeger" / "traces.json"
PHOENIX = [IMPORTS / "phoenix" / name for name in ("spans.parquet", "spans.jsonl", "spans.json")]
LANGFUSE = [IMPORTS / "langfuse" / name for name in ("observations.json", "observations.jsonl")]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


def imported(source: Path, tmp_path: Path, spans: int) -> list[Any]:
    """Imports a file, checks the count, and returns every trace with its tree."""
    done = run("import", tmp_path / "data", source)
    assert done.exit_code == 0, done.output
    assert f"Imported {spans:,} spans into" in done.output
    assert "rejected" not in done.output
    store = TraceStore.open_read_only(str(tmp_path / "data" / "traces"))
    traces: list[Any] = json.loads(store.query(queries.runs(EVERYTHING, 1, 100)).data)
    assert sum(trace["total_spans"] for trace in traces) == spans
    return sorted(traces, key=lambda trace: trace["start_time"])


def tokens(trace: dict[str, Any]) -> tuple[int, int]:
    summary = trace["tree"][0]["metadata"]
    return summary["total_input_tokens"], summary["total_output_tokens"]


def nodes(tree: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Returns the spans of a tree by their names."""
    found = {}
    for node in tree:
        found[node["name"]] = node
        found.update(nodes(node.get("spans") or []))
    return found


@pytest.mark.parametrize("source", PHOENIX, ids=lambda path: path.name)
def test_spans_of_phoenix(tmp_path: Path, source: Path) -> None:
    kyoto, oslo, lima = imported(source, tmp_path, 12)
    assert {trace["name"] for trace in (kyoto, oslo, lima)} == {"weather agent"}
    assert [trace["session_id"] for trace in (kyoto, oslo, lima)] == ["session-0", "session-1", "session-0"]
    assert {trace["user_id"] for trace in (kyoto, oslo, lima)} == {"ann"}
    assert (kyoto["input"], kyoto["output"]) == ("Weather in Kyoto?", "Sunny.")
    assert tokens(oslo) == (21, 7)
    spans = nodes(lima["tree"])
    types = {"weather agent": "AGENT", "chat": "LLM", "get_weather": "TOOL", "retrieve": "RETRIEVER"}
    assert {name: span["type"] for name, span in spans.items()} == types
    assert (spans["get_weather"]["status"], spans["get_weather"]["error"]) == ("ERROR", "no station in Lima")
    assert spans["chat"]["metadata"]["model"] == "gpt-4o-mini"
    assert "Weather in Lima?" in json.dumps(spans["chat"]["input"])
    assert "Bring a hat." in json.dumps(spans["retrieve"])


@pytest.mark.parametrize("source", LANGFUSE, ids=lambda path: path.name)
def test_observations_of_langfuse(tmp_path: Path, source: Path) -> None:
    kyoto, oslo, lima = imported(source, tmp_path, 12)
    assert kyoto["trace_id"] == f"{10:032x}"
    assert {trace["name"] for trace in (kyoto, oslo, lima)} == {"weather"}
    assert [trace["session_id"] for trace in (kyoto, oslo, lima)] == ["session-0", "session-1", "session-0"]
    assert {trace["user_id"] for trace in (kyoto, oslo, lima)} == {"ann"}
    assert (kyoto["start_time"], kyoto["created_at"]) == ("2026-11-02T09:30:00Z", "2026-11-02T09:30:04Z")
    assert tokens(oslo) == (21, 7)
    spans = nodes(lima["tree"])
    types = {"weather agent": "AGENT", "chat": "LLM", "get_weather": "TOOL"}
    assert {name: spans[name]["type"] for name in types} == types
    assert (spans["get_weather"]["status"], spans["get_weather"]["error"]) == ("ERROR", "no station in Lima")
    assert spans["chat"]["metadata"]["model"] == "gpt-4o-mini"
    assert spans["answered"]["duration"] == "0ms"
    assert lima["tree"][0]["name"] == "weather agent"


def test_observations_of_langfuse_in_columns_equal_those_in_lines(tmp_path: Path) -> None:
    lines = (IMPORTS / "langfuse" / "observations.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    values = {"metadata": pa.string(), "usage_details": pa.uint64(), "cost_details": pa.float64()}
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for name, kind in values.items():  # maps, as Langfuse writes them to Parquet
        columns[name] = pa.array([list(value.items()) for value in columns[name]], pa.map_(pa.string(), kind))
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "observations.parquet")
    in_columns = imported(tmp_path / "observations.parquet", tmp_path / "columns", 12)
    assert in_columns == imported(IMPORTS / "langfuse" / "observations.jsonl", tmp_path / "lines", 12)


def test_a_trace_of_langfuse_lends_its_observations_what_is_said_of_it(tmp_path: Path) -> None:
    own = {"traceId": "5f1c-legacy", "type": "SPAN", "startTime": "2026-11-02T09:30:00.000Z"}
    root = {**own, "id": "2f0b4c8e-1111-4c57-9b3a-0123456789ab", "name": "root", "parentObservationId": None}
    child = {**own, "id": "other", "name": "child", "parentObservationId": root["id"]}
    trace = {"id": "5f1c-legacy", "name": "chat", "userId": "ann", "sessionId": "s", "observations": [root, child]}
    (tmp_path / "trace.json").write_text(json.dumps(trace), "utf-8")
    (found,) = imported(tmp_path / "trace.json", tmp_path, 2)
    assert (found["name"], found["user_id"], found["session_id"]) == ("chat", "ann", "s")
    (tree,) = found["tree"]
    assert [node["name"] for node in tree["spans"]] == ["child"]
    assert tree["extra_data"]["attributes"]["langfuse.trace.id"] == "5f1c-legacy"


def test_traces_of_jaeger_equal_what_it_received(tmp_path: Path) -> None:
    """Jaeger keeps only microseconds and drops schema URLs; all other data comes back."""
    found = imported(JAEGER, tmp_path, 30)
    store = TraceStore.open(str(tmp_path / "sent" / "traces"))
    store.ingest((OTLP / "collector-json-01.json").read_bytes(), "application/json")
    sent = json.loads(store.query(queries.runs(EVERYTHING, 1, 100)).data)
    store.close()
    by_id = {trace["trace_id"]: trace for trace in sent}
    assert by_id.keys() == {trace["trace_id"] for trace in found}
    names = ("name", "status", "total_spans", "error_count", "session_id", "user_id", "input", "output")
    for trace in found:
        expected = by_id[trace["trace_id"]]
        assert {name: trace.get(name) for name in names} == {name: expected.get(name) for name in names}
        assert shapes(trace["tree"]) == shapes(expected["tree"])


def shapes(tree: list[dict[str, Any]]) -> list[Any]:
    """Returns a tree without durations, and with times in Jaeger's precision."""
    names = ("id", "name", "type", "status", "error", "input", "output", "metadata")
    return sorted(
        (
            [{name: node.get(name) for name in names}, node["start_time"][:26], shapes(node.get("spans") or [])]
            for node in tree
        ),
        key=lambda shape: str(shape[0]["id"]),
    )


@pytest.mark.parametrize("form", ["list", "lines", "one line", "pretty", "gzip"])
def test_records_are_a_document_or_lines(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.traces.bulk_import.messages._CHUNK_BYTES", 1000)
    records = [
        {
            "trace_id": f"{number + 1:032x}",
            "span_id": "a" * 16,
            "name": "x",
            "start_time": f"2026-01-01T00:00:{number:02}Z",
        }
        for number in range(50)
    ]
    text = {
        "list": json.dumps(records),
        "lines": "\n".join(map(json.dumps, records)),
        "one line": json.dumps({"data": records}),
        "pretty": json.dumps({"next_cursor": None, "data": records}, indent=1),
        "gzip": "\n".join(map(json.dumps, records)) + "\n",
    }[form]
    file = tmp_path / "spans"
    file.write_bytes(gzip.compress(text.encode()) if form == "gzip" else text.encode())
    assert len(imported(file, tmp_path, 50)) == 50


def test_a_record_that_is_no_span_is_rejected_with_its_line(tmp_path: Path) -> None:
    good = json.dumps({"trace_id": "1" * 32, "span_id": "a" * 16, "name": "x", "start_time": 1})
    jaeger = json.dumps({"traceID": "2", "spans": [{"spanID": "zz", "operationName": "x", "traceID": "2"}]})
    lines = [good, '{"name": "x"}', "{", "[]", jaeger, '{"parentObservationId": null, "id": "a", "traceId": "b"}']
    (tmp_path / "spans.jsonl").write_text("\n".join(lines), "utf-8")
    done = run("import", tmp_path / "data", tmp_path / "spans.jsonl")
    assert "Imported 1 span into" in done.output
    assert "; rejected 3 spans and 1 line." in done.output
    reasons = [line.partition("spans.jsonl, ")[2] for line in done.output.splitlines() if line.startswith("rejected")]
    assert reasons == [
        "line 2: expected a span, found an object without `trace_id`, `span_id`, `start_time`",
        "line 3: a value without an end: EOF while parsing an object at column 1",
        "line 5: expected `startTime` in microseconds",
        "line 6: expected a `start_time`, found none",
    ]
