"""Import of spans from columns of other programs, and of OTLP files as collectors write them."""

from __future__ import annotations

import json
import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise import Filter, TraceStore
from spanwise.cli import commands
from spanwise.traces.search import queries
from support.clients.otlp import captures

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVERYTHING = Filter.compile(b"{}")
PROTOBUF = "application/x-protobuf"
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


def traces(data_dir: Path) -> list[Any]:
    """Returns every trace with its tree, without the time it was received."""
    store = TraceStore.open_read_only(str(data_dir / "traces"))
    total = store.query(queries.runs(EVERYTHING, 1, 1)).total
    pages = [store.query(queries.runs(EVERYTHING, page, 100)) for page in range(1, total // 100 + 2)]
    return [{**trace, "created_at": None} for page in pages for trace in json.loads(page.data)]


def value(encoded: dict[str, Any]) -> Any:
    """Returns a value of OTLP/JSON as JSON."""
    match next(iter(encoded.items()), ("", None)):
        case "intValue", number:
            return int(number)
        case "arrayValue", array:
            return [value(each) for each in array.get("values", [])]
        case "kvlistValue", pairs:
            return attributes(pairs.get("values", []))
        case _, plain:
            return plain


def attributes(encoded: list[dict[str, Any]]) -> dict[str, Any]:
    return {each["key"]: value(each["value"]) for each in encoded}


def requests() -> Iterator[ExportTraceServiceRequest]:
    """Yields the captured requests without the parts that columns cannot express."""
    for capture in captures():
        if capture.content_encoding == "identity" and capture.content_type == PROTOBUF:
            request = ExportTraceServiceRequest.FromString(capture.body)
            for resource in request.resource_spans:
                resource.schema_url = ""
                for scope in resource.scope_spans:
                    scope.schema_url = ""
                    del scope.scope.attributes[:]
                    for span in scope.spans:
                        span.flags = 0
                        for link in span.links:
                            link.flags = 0
            yield request


def rows(request: ExportTraceServiceRequest) -> Iterator[dict[str, Any]]:
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                encoded_span = MessageToDict(span)
                yield {
                    "trace_id": span.trace_id.hex(),
                    "span_id": span.span_id.hex(),
                    "parent_span_id": span.parent_span_id.hex() or None,
                    "trace_state": span.trace_state,
                    "name": span.name,
                    "kind": encoded_span.get("kind"),
                    "start_time": span.start_time_unix_nano,
                    "end_time": span.end_time_unix_nano,
                    "status_code": encoded_span.get("status", {}).get("code"),
                    "status_message": span.status.message,
                    "attributes": json.dumps(attributes(encoded_span.get("attributes", []))),
                    "events": [
                        {
                            "name": event.name,
                            "time": event.time_unix_nano,
                            "attributes": json.dumps(attributes(MessageToDict(event).get("attributes", []))),
                        }
                        for event in span.events
                    ],
                    "links": [
                        {
                            "trace_id": link.trace_id,
                            "span_id": link.span_id,
                            "attributes": json.dumps(attributes(MessageToDict(link).get("attributes", []))),
                        }
                        for link in span.links
                    ],
                    "resource_attributes": json.dumps(
                        attributes(MessageToDict(resource.resource).get("attributes", []))
                    ),
                    "scope_name": scope.scope.name,
                    "scope_version": scope.scope.version,
                }


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the captured requests, ingested as OTLP."""
    folder = tmp_path_factory.mktemp("direct")
    store = TraceStore.open(str(folder / "traces"))
    for request in requests():
        store.ingest(request.SerializeToString(), PROTOBUF)
    store.close()
    return folder


@pytest.mark.parametrize("times", ["integers", "instants"])
def test_spans_in_columns_equal_the_same_spans_as_otlp(direct: Path, tmp_path: Path, times: str) -> None:
    table = pa.Table.from_pylist([row for request in requests() for row in rows(request)])
    if times == "instants":
        for name in ("start_time", "end_time"):
            at = table.schema.get_field_index(name)
            table = table.set_column(at, name, table[name].cast(pa.timestamp("ns", "UTC")))
    pq.write_table(table, tmp_path / "spans.parquet")
    imported = run("import", tmp_path / "data", tmp_path / "spans.parquet")
    assert imported.exit_code == 0, imported.output
    assert f"Imported {table.num_rows:,} spans into" in imported.output
    assert "rejected" not in imported.output
    assert traces(tmp_path / "data") == traces(direct)


def spans(**columns: list[Any]) -> dict[str, list[Any]]:
    count = len(next(iter(columns.values()), [0]))
    return {
        "trace_id": [f"{number + 1:032x}" for number in range(count)],
        "span_id": ["a" * 16] * count,
        "name": [f"span {number}" for number in range(count)],
        "start_time": [FIRST] * count,
        **columns,
    }


def imported(tmp_path: Path, table: pa.Table) -> Result:
    pq.write_table(table, tmp_path / "spans.parquet")
    return run("import", tmp_path / "data", tmp_path / "spans.parquet")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[("user.id", "ann")]], pa.map_(pa.string(), pa.string())),
        pa.array([{"user.id": "ann", "absent": None}]),
        pa.array(['{"user.id": "ann"}']),
        pa.array([b'{"user.id": "ann"}']),
        pa.array(['{"user.id": "ann"}']).dictionary_encode(),
    ],
    ids=["map", "struct", "text", "bytes", "dictionary"],
)
def test_attributes_are_a_map_a_struct_or_text(tmp_path: Path, column: pa.Array) -> None:
    table = pa.table({**spans(name=["one"]), "attributes": column})
    assert imported(tmp_path, table).exit_code == 0
    (trace,) = traces(tmp_path / "data")
    assert trace["user_id"] == "ann"


def test_non_finite_numbers_survive(tmp_path: Path) -> None:
    column = pa.array([{"a": float("nan"), "b": float("inf"), "c": 2**63 - 1, "d": [1.5, None]}])
    assert imported(tmp_path, pa.table({**spans(name=["one"]), "attributes": column})).exit_code == 0
    store = TraceStore.open_read_only(str(tmp_path / "data" / "traces"))
    found = json.loads(store.query(queries.runs(EVERYTHING, 1, 1)).data)[0]["tree"][0]["extra_data"]["attributes"]
    assert (found["a"], found["b"], found["c"]) == ("NaN", "Infinity", 2**63 - 1)


def test_ids_may_be_bytes_and_the_time_of_receipt_is_kept(tmp_path: Path) -> None:
    trace_id, received = bytes(range(16)), datetime(2025, 5, 5, tzinfo=UTC)
    table = pa.table(spans(trace_id=[trace_id], span_id=[b"12345678"], created_at=[received]))
    assert imported(tmp_path, table).exit_code == 0
    store = TraceStore.open_read_only(str(tmp_path / "data" / "traces"))
    (trace,) = json.loads(store.query(queries.runs(EVERYTHING, 1, 1)).data)
    assert trace["trace_id"] == trace_id.hex()
    assert trace["created_at"] == "2025-05-05T00:00:00Z"


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    table = pa.table({"TraceId": ["a" * 32], "name": ["x"], "start_time": [FIRST]})
    rejected = imported(tmp_path, table)
    assert rejected.exit_code == 1
    assert "found TraceId, name, start_time: without `trace_id`, `span_id` a row is no span" in rejected.output


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"trace_id": ["1" * 32, "0" * 32]}, "trace id is all zero"),
        ({"trace_id": ["1" * 32, "no id"]}, "no id"),
        ({"kind": ["CLIENT", "SIDEWAYS"]}, "expected `kind` to be one of UNSPECIFIED, INTERNAL"),
        ({"status": ["OK", "FINE"]}, "expected `status` to be one of UNSET, OK, ERROR, got `FINE`"),
        ({"attributes": ["{}", "[]"]}, "expected `attributes` to be a map or a JSON object"),
        ({"attributes": ["{}", "{"]}, "EOF while parsing an object"),
        ({"attributes": ["{}", '{"a":' + "[" * 100_000]}, "recursion"),
        ({"events": ["[]", "[1]"]}, "expected `events` to be a list of structs or of JSON objects"),
        ({"start_time": [1, -1]}, "expected `start_time` to be an instant"),
    ],
)
def test_an_invalid_row_is_rejected_with_its_path(tmp_path: Path, columns: dict[str, list[Any]], reason: str) -> None:
    done = imported(tmp_path, pa.table(spans(**columns)))
    assert done.exit_code == 0, "what is refused is counted"
    assert "Imported 1 span into" in done.output
    assert "; rejected 1 span." in done.output
    (line,) = [line for line in done.output.splitlines() if line.startswith("rejected: ")]
    assert line.startswith(f"rejected: {tmp_path}/spans.parquet, span 1: ")
    assert reason in line


def test_the_first_rejections_are_named_and_all_are_counted(tmp_path: Path) -> None:
    done = imported(tmp_path, pa.table(spans(kind=["SIDEWAYS"] * 500)))
    lines = [line for line in done.output.splitlines() if line.startswith("rejected: ")]
    assert "Imported 0 spans into" in done.output
    assert "; rejected 500 spans." in done.output
    assert len(lines) == 101
    assert lines[99].startswith(f"rejected: {tmp_path}/spans.parquet, span 99: ")


def zstd(content: bytes) -> bytes:
    compressed: bytes = pa.Codec("zstd").compress(content, asbytes=True)
    return compressed


def measured(*pieces: bytes) -> bytes:
    return b"".join(len(piece).to_bytes(4, "big") + piece for piece in pieces)


@pytest.mark.parametrize("form", ["protobuf", "json", "protobuf in zstd", "all in zlib", "all in zstd"])
def test_length_delimited_messages_are_read(tmp_path: Path, direct: Path, form: str) -> None:
    bodies = [request.SerializeToString() for request in requests()]
    if form == "json":
        sent = [capture for capture in captures() if capture.content_type == "application/json"]
        bodies = [capture.body for capture in sent if capture.content_encoding == "identity"]
        store = TraceStore.open(str(tmp_path / "sent" / "traces"))
        for body in bodies:
            store.ingest(body, "application/json")
        store.close()
        direct = tmp_path / "sent"
    if form == "protobuf in zstd":
        bodies = [zstd(body) for body in bodies]
    content = measured(*bodies)
    if form.startswith("all in"):
        content = zlib.compress(content) if form == "all in zlib" else zstd(content)
    (tmp_path / "file").write_bytes(content)
    done = run("import", tmp_path / "data", tmp_path / "file")
    assert done.exit_code == 0, done.output
    assert "rejected" not in done.output
    assert traces(tmp_path / "data") == traces(direct)


@pytest.mark.parametrize("cut", [1, 3, 5, 100])
def test_a_truncated_file_is_recognised(tmp_path: Path, cut: int) -> None:
    body = next(requests()).SerializeToString()
    (tmp_path / "file").write_bytes(measured(body, body)[: -len(body) - 4 + cut])
    (tmp_path / "zlib").write_bytes(zlib.compress(body)[:-cut])
    done = run("import", tmp_path / "data", tmp_path / "file", tmp_path / "zlib")
    assert done.exit_code == 1
    assert f"rejected: {tmp_path}/file: the last message is cut short" in done.output
    assert f"rejected: {tmp_path}/zlib: cannot be inflated" in done.output
    assert traces(tmp_path / "data"), "what stands before is imported"
