"""Bulk export and import: every format restores the same traces."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from spanwise import Filter, TraceStore
from spanwise._engine import span_schema, trace_schema
from spanwise.cli import commands
from spanwise.errors import BatchError, ConfigurationError
from spanwise.traces.search import queries
from support.clients.otlp import captures
from support.paths import OTLP

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = Filter.compile(b"null")
AGENTS = '{"op": "EXISTS", "key": "agent_id"}'


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a data folder with every captured export, partly in segments."""
    folder = tmp_path_factory.mktemp("filled")
    store = TraceStore.open(str(folder / "traces"))
    for number, capture in enumerate(captures()):
        store.ingest(capture.body, capture.content_type, capture.content_encoding)
        if number == 100:
            store.flush()
    store.close()
    return folder


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


def answers(data_dir: Path, *, received: bool = True) -> list[Any]:
    """Returns every trace with its tree, and every session."""
    store = TraceStore.open_read_only(str(data_dir / "traces"))
    total = store.query(queries.runs(EVERYTHING, 1, 1)).total
    pages = [store.query(queries.runs(EVERYTHING, page, 100)) for page in range(1, total // 100 + 2)]
    traces = [trace for page in pages for trace in json.loads(page.data)]
    sessions = json.loads(store.query(queries.sessions(EVERYTHING, 1, 100)).data)
    if not received:
        for trace in traces:
            trace.pop("created_at")
    return [traces, sessions]


@pytest.mark.parametrize(
    ("form", "wrap"),
    [
        ("parquet", None),
        ("arrow", None),
        ("otlp", None),
        ("otlp", "gzip"),
        ("otlp", "zstd"),
        ("arrow", "zstd"),
    ],
)
def test_every_search_returns_the_same_after_export_and_import(
    data_dir: Path, tmp_path: Path, form: str, wrap: str | None
) -> None:
    file = tmp_path / "file"
    exported = run("export", data_dir, "{}", "--format", form, "-o", file)
    assert exported.exit_code == 0, exported.output
    if wrap == "gzip":
        file.write_bytes(gzip.compress(file.read_bytes()))
    if wrap == "zstd":
        file.write_bytes(pa.Codec("zstd").compress(file.read_bytes(), asbytes=True))
    for _ in range(2):  # the second import changes nothing
        imported = run("import", tmp_path / "copy", file)
        assert imported.exit_code == 0, imported.output
        assert "rejected" not in imported.output
        # An OTLP message has no field for the time of receipt.
        has_received = form != "otlp"
        assert answers(tmp_path / "copy", received=has_received) == answers(data_dir, received=has_received)


def test_a_file_of_spans_only_is_imported(data_dir: Path, tmp_path: Path) -> None:
    file = tmp_path / "spans.parquet"
    run("export", data_dir, "{}", "--format", "parquet", "-o", file)
    pq.write_table(pq.read_table(file, columns=["span", "resource", "scope"]), file)
    imported = run("import", tmp_path / "copy", file)
    assert imported.exit_code == 0, imported.output
    assert "rejected" not in imported.output
    assert len(answers(tmp_path / "copy")[0]) == len(answers(data_dir)[0])


def test_documents_are_indexed_by_whoever_opens_the_store_after_an_import(data_dir: Path, tmp_path: Path) -> None:
    def cached() -> set[str]:
        return {path.name for path in (tmp_path / "copy" / "traces" / "cache").rglob("*") if path.is_file()}

    run("export", data_dir, "{}", "--format", "parquet", "-o", tmp_path / "spans.parquet")
    run("import", tmp_path / "copy", tmp_path / "spans.parquet")
    assert cached() == {"index"}
    store = TraceStore.open(str(tmp_path / "copy" / "traces"))
    deadline = time.monotonic() + 60
    while len(cached()) == 1:
        assert time.monotonic() < deadline, "nothing is indexed"
        time.sleep(0.05)
    store.close()


def test_a_folder_of_exports_is_imported_as_it_would_be_ingested(data_dir: Path, tmp_path: Path) -> None:
    imported = run("import", tmp_path / "copy", OTLP)
    # The folder also contains two Markdown pages and the index of the captures.
    assert imported.exit_code == 1
    prose = [
        f"rejected: {OTLP / name}: expected spans as OTLP, JSON, Parquet or Arrow, found something else"
        for name in ("ATTRIBUTES.md", "README.md")
    ]
    manifest = f"rejected: {OTLP / 'manifest.json'}, span 0: expected a span, found an object without "
    rejected = [line for line in imported.output.splitlines() if line.startswith("rejected: ")]
    assert [line for line in rejected if not line.startswith(manifest)] == prose
    assert len(rejected) == len(prose) + 1
    expected, _ = answers(data_dir, received=False)
    found, _ = answers(tmp_path / "copy", received=False)
    assert found == expected


def test_a_rejected_input_is_reported_with_its_path(tmp_path: Path) -> None:
    span = {"spanId": "1" * 16, "name": "x", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    good, bad = {**span, "traceId": "a" * 32}, {**span, "traceId": "0" * 32}
    lines = [json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [each]}]}]}) for each in (good, bad)]
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("\n".join(lines), "utf-8")
    (tmp_path / "cut.pb").write_bytes(b"\x0a\x7f\x12")
    imported = run("import", tmp_path / "data", tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "cut.pb")
    assert imported.exit_code == 1
    assert re.search(r"^Imported 2 spans into .* in .* s; rejected 2 spans\.$", imported.output, re.MULTILINE)
    reason = f"span 1: span `{'1' * 16}`: trace id is all zero"
    assert f"rejected: {tmp_path}/a.jsonl, {reason}" in imported.output
    assert f"rejected: {tmp_path}/b.jsonl, {reason}" in imported.output
    assert f"rejected: {tmp_path}/cut.pb: expected OTLP data" in imported.output


def test_messages_of_any_length_and_number_are_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.traces.bulk_import.messages._CHUNK_BYTES", 100)
    for name, capture in (("whole.json", "collector-json-01.json"), ("merged.pb", "collector-merged-01.pb")):
        body = (OTLP / capture).read_bytes()
        pretty = json.dumps(json.loads(body), indent=1).encode() if name == "whole.json" else body * 3
        (tmp_path / name).write_bytes(pretty)
        imported = run("import", tmp_path / capture, tmp_path / name)
        assert imported.exit_code == 0, imported.output
        direct = TraceStore.open(str(tmp_path / f"{name}-direct" / "traces"))
        direct.ingest(body, "application/json" if name == "whole.json" else "application/x-protobuf")
        direct.close()
        both = (tmp_path / capture, tmp_path / f"{name}-direct")
        one, other = (answers(folder, received=False) for folder in both)
        assert one == other


def test_an_import_needs_the_store_for_itself(data_dir: Path, tmp_path: Path) -> None:
    run("export", data_dir, "-o", tmp_path / "file")
    store = TraceStore.open(str(tmp_path / "copy" / "traces"))
    try:
        rejected = run("import", tmp_path / "copy", tmp_path / "file")
    finally:
        store.close()
    assert rejected.exit_code == 1
    assert "is held by process" in rejected.output


@pytest.mark.parametrize(("flags", "said"), [((), "No trace matches.\n"), (("--sessions",), "No session matches.\n")])
def test_a_search_that_finds_nothing_says_so(data_dir: Path, flags: tuple[str, ...], said: str) -> None:
    assert run("search", data_dir, '{"op": "EQ", "key": "name", "value": "nobody"}', *flags).output == said


def test_a_store_in_use_is_searched_and_exported(data_dir: Path, tmp_path: Path) -> None:
    store = TraceStore.open(str(data_dir / "traces"))
    try:
        found = run("search", data_dir, AGENTS, "--limit", 2)
        exported = run("export", data_dir, AGENTS, "--format", "ndjson", "-o", tmp_path / "lines")
    finally:
        store.close()
    title, first, second, pages = found.output.splitlines()
    assert title.split() == ["START", "STATUS", "DURATION", "SPANS", "NAME", "USER", "SESSION", "TRACE"]
    assert first.split()[0] >= second.split()[0]
    total = int(pages.rsplit(";", 1)[1].split()[0])
    assert pages == f"Page 1 of {-(-total // 2)}; {total} traces in total."
    assert exported.exit_code == 0
    lines = [json.loads(line) for line in (tmp_path / "lines").read_bytes().splitlines()]
    assert len(lines) == total
    assert all(line["agent_id"] and line["tree"] for line in lines)


def test_a_search_without_a_service_returns_what_the_service_returns(data_dir: Path) -> None:
    answered = json.loads(run("search", data_dir, AGENTS, "--json", "--page", 2, "--limit", 3).output)
    page = TraceStore.open_read_only(str(data_dir / "traces")).query(
        queries.runs(Filter.compile(AGENTS.encode()), 2, 3)
    )
    assert answered["data"] == json.loads(page.data)
    assert answered["meta"]["total_count"] == page.total
    sessions = run("search", data_dir, "{}", "--sessions").output.splitlines()
    assert sessions[0].split() == ["LAST", "TRACE", "TRACES", "AGENTS", "USER", "SESSION"]


def test_control_characters_do_not_reach_a_terminal(tmp_path: Path) -> None:
    span = {"traceId": "a" * 32, "spanId": "1" * 16, "name": "\x1b[2J\nforged", "startTimeUnixNano": "1"}
    store = TraceStore.open(str(tmp_path / "traces"))
    store.ingest(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode(), "application/json")
    store.close()
    found = run("search", tmp_path, "{}").output
    assert "?[2J?forged" in found
    assert len(found.splitlines()) == 3


@pytest.mark.parametrize("command", ["search", "export"])
def test_a_store_that_cannot_be_read_is_rejected(tmp_path: Path, command: str) -> None:
    rest = ("-o", tmp_path / "file") if command == "export" else ()

    def run_command(source: str, folder: Path) -> Result:
        return run(command, folder, source, *rest)

    nowhere = run_command("{}", tmp_path / "nowhere")
    assert nowhere.exit_code == 1
    assert "found no such folder" in nowhere.output
    (tmp_path / "empty" / "traces").mkdir(parents=True)
    assert "expected a store, found no manifest" in run_command("{}", tmp_path / "empty").output
    assert "unknown operator `XX`" in run_command('{"op": "XX", "key": "name"}', tmp_path / "nowhere").output
    assert not (tmp_path / "file").exists()


def test_streams_are_arrow_streams(data_dir: Path) -> None:
    store = TraceStore.open_read_only(str(data_dir / "traces"))
    rows = pa.table(store.scan(EVERYTHING))
    assert rows.schema == pa.schema(trace_schema())
    assert rows.num_rows == store.query(queries.runs(EVERYTHING, 1, 1)).total
    spans = pa.table(store.export_spans(EVERYTHING))
    assert spans.schema == pa.schema(span_schema())
    assert spans.num_rows == sum(rows["total_spans"].to_pylist())
    assert set(spans["trace_id"].to_pylist()) == set(rows["trace_id"].to_pylist())
    some = Filter.compile(b'{"op": "EQ", "key": "status", "value": "ERROR"}')
    assert set(pa.table(store.scan(some))["status"].to_pylist()) == {"ERROR"}


def test_spans_are_imported_from_any_arrow_producer(data_dir: Path, tmp_path: Path) -> None:
    spans = pa.table(TraceStore.open_read_only(str(data_dir / "traces")).export_spans(EVERYTHING))
    pq.write_table(spans, tmp_path / "plain.parquet", store_schema=False)
    for name, given in {"table": spans, "plain": pq.read_table(tmp_path / "plain.parquet")}.items():
        store = TraceStore.open(str(tmp_path / name / "traces"))
        report = json.loads(store.import_spans(given.select(["span", "resource", "scope", "created_at"])))
        assert report == {"accepted": spans.num_rows, "rejected": 0, "refused": [], "resumed": 0}
        with pytest.raises(BatchError, match="expected a column `span` of encoded spans, found `name`"):
            store.import_spans(given.select(["name"]))
        store.close()


def test_a_read_only_store_is_not_changed(data_dir: Path) -> None:
    reader = TraceStore.open_read_only(str(data_dir / "traces"))
    with pytest.raises(ConfigurationError, match="the store was opened for reading only"):
        reader.delete(EVERYTHING)
    with pytest.raises(ConfigurationError, match="one of `parquet`, `arrow`, `ndjson`, `otlp`, got `csv`"):
        reader.export(EVERYTHING, "csv")
    reader.close()


def test_an_export_that_fails_leaves_no_file(data_dir: Path, tmp_path: Path) -> None:
    rejected = run("export", data_dir, "-o", tmp_path / "missing" / "file")
    assert rejected.exit_code == 1
    assert "cannot write" in rejected.output
    assert list(tmp_path.iterdir()) == []


def test_an_export_to_a_fifo_reaches_its_reader(data_dir: Path, tmp_path: Path) -> None:
    run("export", data_dir, "--format", "ndjson", "-o", tmp_path / "file")
    os.mkfifo(tmp_path / "fifo")
    exporting = threading.Thread(target=run, args=("export", data_dir, "--format", "ndjson", "-o", tmp_path / "fifo"))
    exporting.start()
    assert (tmp_path / "fifo").read_bytes() == (tmp_path / "file").read_bytes()
    exporting.join()
    assert (tmp_path / "fifo").is_fifo()


def test_an_export_that_fails_changes_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")
    assert run("export", tmp_path / "missing", "-o", tmp_path / "file").exit_code == 1
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_nothing_but_the_export_is_written_to_dev_stdout(data_dir: Path, tmp_path: Path) -> None:
    run("export", data_dir, "--format", "ndjson", "-o", tmp_path / "file")
    command = [sys.executable, "-m", "spanwise", "export", str(data_dir), "--format", "ndjson", "-o", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert done.stdout == (tmp_path / "file").read_bytes()
