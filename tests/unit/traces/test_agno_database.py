"""Import of traces from databases that agno filled with a scripted model."""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from spanwise import Filter, TraceStore
from spanwise.cli import commands
from spanwise.traces.bulk_import.agno_database import AgnoDatabase
from spanwise.traces.search import queries
from support.paths import AGNO_DATABASES

if TYPE_CHECKING:
    from support.servers import postgresql

DATABASES = AGNO_DATABASES
MADE_BY_2_7_2 = DATABASES / "traced-by-2.7.2.db"
IDS = ("run_id", "session_id", "user_id", "agent_id", "team_id", "workflow_id")


def fill(database: str) -> None:
    subprocess.run([sys.executable, str(DATABASES / "make.py"), database], check=True, capture_output=True)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def newest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a database filled by the installed agno."""
    file = tmp_path_factory.mktemp("agno") / "traced.db"
    fill(str(file))
    return file


def traces_in(data_dir: Path) -> dict[str, dict[str, Any]]:
    page = TraceStore.open_read_only(str(data_dir / "traces")).query(queries.runs(Filter.compile(b"null"), 1, 100))
    return {trace["trace_id"]: trace for trace in json.loads(page.data)}


def spans_in(nodes: list[dict[str, Any]], parent: str | None = None) -> dict[str, tuple[str | None, dict[str, Any]]]:
    found: dict[str, tuple[str | None, dict[str, Any]]] = {}
    for node in nodes:
        found[node["id"]] = (parent, node)
        found |= spans_in(node.get("spans", []), node["id"])
    return found


def assert_same_as(file: Path, traces: dict[str, dict[str, Any]]) -> None:
    """Asserts that `traces` agree with agno's own tables."""
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute("SELECT * FROM agno_traces").fetchall()
        assert {row["trace_id"] for row in rows} == set(traces)
        for row in rows:
            trace = traces[row["trace_id"]]
            assert {name: trace.get(name) for name in IDS} == {name: row[name] for name in IDS}
            assert trace["name"] == row["name"]
            assert trace["status"] == row["status"]
            assert instant(trace["created_at"]) == instant(row["created_at"])
            spans = spans_in(trace["tree"])
            stored = connection.execute("SELECT * FROM agno_spans WHERE trace_id = ?", [row["trace_id"]]).fetchall()
            assert set(spans) == {span["span_id"] for span in stored}
            for span in stored:
                parent, node = spans[span["span_id"]]
                assert parent == span["parent_span_id"]
                assert node["name"] == span["name"]
                assert node["status"] == ("ERROR" if span["status_code"] == "ERROR" else "OK")
                assert instant(node["start_time"]) == instant(span["start_time"])
                attributes = json.loads(span["attributes"])
                assert node.get("input") == attributes.get("input.value")
                assert node["type"] == attributes["openinference.span.kind"] or node["type"] in ("TEAM", "WORKFLOW")
        connection.close()


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_what_agno_2_7_2_stored_is_imported_whole(tmp_path: Path) -> None:
    imported = run("import", tmp_path, MADE_BY_2_7_2)
    assert imported.exit_code == 0, imported.output
    assert_same_as(MADE_BY_2_7_2, traces_in(tmp_path))


def test_what_the_newest_agno_stores_is_imported_whole(newest: Path, tmp_path: Path) -> None:
    for _ in range(2):  # the second import changes nothing
        imported = run("import", tmp_path, newest)
        assert imported.exit_code == 0, imported.output
        traces = traces_in(tmp_path)
        assert_same_as(newest, traces)
    names = {trace["name"] for trace in traces.values()}
    assert {"Forecaster.run", "Broken.run", "Desk.run", "Daily.run"} <= names
    tool = [node for trace in traces.values() for _, node in spans_in(trace["tree"]).values() if node["type"] == "TOOL"]
    assert [node["output"] for node in tool] == ["sunny in Zürich"]


def test_tables_of_other_names_are_imported(tmp_path: Path, newest: Path) -> None:
    file = tmp_path / "renamed.db"
    shutil.copy(newest, file)
    with sqlite3.connect(file) as connection:
        connection.execute("ALTER TABLE agno_traces RENAME TO t")
        connection.execute("ALTER TABLE agno_spans RENAME TO s")
    connection.close()
    imported = run("import", tmp_path / "data", f"sqlite:///{file}", "--traces-table", "t", "--spans-table", "s")
    assert imported.exit_code == 0, imported.output
    assert_same_as(newest, traces_in(tmp_path / "data"))
    rejected = run("import", tmp_path / "data", file, "--spans-table", "s")
    assert f"expected a table `agno_traces` in sqlite:///{file}, found none" in rejected.output


def test_invalid_rows_are_rejected_one_by_one(tmp_path: Path, newest: Path) -> None:
    file = tmp_path / "spoiled.db"
    shutil.copy(newest, file)
    with sqlite3.connect(file) as connection:
        spans = [row[0] for row in connection.execute("SELECT span_id FROM agno_spans ORDER BY trace_id, span_id")]
        connection.execute("UPDATE agno_spans SET start_time = 'soon' WHERE span_id = ?", [spans[0]])
        connection.execute("UPDATE agno_spans SET span_id = 'no id' WHERE span_id = ?", [spans[1]])
        row = dict.fromkeys(("name", "status", "start_time", "end_time", "created_at"), "2026-01-01")
        connection.execute(
            "INSERT INTO agno_traces (trace_id, duration_ms, name, status, start_time, end_time, created_at) "
            "VALUES ('ff', 1, :name, :status, :start_time, :end_time, :created_at)",
            row,
        )
    connection.close()
    imported = run("import", tmp_path / "data", file)
    assert f"Imported {len(spans) - 2} spans into" in imported.output
    assert "; rejected 3 spans." in imported.output
    assert f"span `{spans[0]}`" in imported.output
    assert "expected `start_time` to be an instant, or nanoseconds since 1970, got `soon`" in imported.output
    assert "span `no id`" in imported.output
    assert "1 traces without spans" in imported.output


def test_a_database_in_postgresql_is_imported(
    postgresql_server: postgresql.PostgresqlServer, newest: Path, tmp_path: Path
) -> None:
    url = postgresql_server.create_database().replace("postgresql://", "postgresql+psycopg://")
    fill(url)
    imported = run("import", tmp_path / "data", url, "--schema", "ai")
    assert imported.exit_code == 0, imported.output
    traces = traces_in(tmp_path / "data")
    run("import", tmp_path / "same", newest)
    same = traces_in(tmp_path / "same")
    assert sorted(trace["name"] for trace in traces.values()) == sorted(trace["name"] for trace in same.values())
    assert all(trace["created_at"] >= trace["start_time"] for trace in traces.values())
    rejected = run("import", tmp_path / "data", url, "--schema", "other")
    assert "found none" in rejected.output
    assert "p@ss" not in rejected.output


_ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=9)
_NUMBERS = st.floats(allow_nan=False) | st.just(math.nan)  # JSON does not distinguish NaN values
_VALUES = (st.booleans(), st.integers(-(2**63), 2**63 - 1), _NUMBERS, _ANY_TEXT)
_IDS = st.integers(1, 2**64 - 1).map("{:016x}".format)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES = st.builds(
    lambda micros, zone: (_EPOCH + timedelta(microseconds=micros)).astimezone(zone),
    st.integers(0, 1_790_000_000_000_000),
    st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]),
)
_SPANS = {
    "span_id": _IDS,
    "trace_id": st.integers(1, 5).map("{:032x}".format),
    "parent_span_id": st.none() | st.just("") | _IDS,
    "name": st.text(max_size=9),
    "span_kind": st.sampled_from(["INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER", "UNSPECIFIED", "other"]),
    "status_code": st.sampled_from(["UNSET", "OK", "ERROR", "other"]),
    "status_message": st.none() | st.text(max_size=9),
    "start_time": _TIMES,
    "end_time": _TIMES,
    "attributes": st.dictionaries(
        st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=9),
        st.one_of(*_VALUES, *(st.lists(each, max_size=3) for each in _VALUES)),
        max_size=5,
    ),
}


def encoded(value: Any) -> AnyValue:
    match value:
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value.encode("utf-8", "replace").decode())
        case _:
            return AnyValue(array_value=ArrayValue(values=map(encoded, value)))


def as_sent(row: dict[str, Any]) -> bytes:
    """Returns a row as the span that OpenTelemetry exports."""

    def nanos(at: datetime) -> int:
        return (at - _EPOCH) // timedelta(microseconds=1) * 1000

    kinds, codes = dict(Span.SpanKind.items()), dict(Status.StatusCode.items())
    sent: bytes = Span(
        trace_id=bytes.fromhex(row["trace_id"]),
        span_id=bytes.fromhex(row["span_id"]),
        parent_span_id=bytes.fromhex(row["parent_span_id"] or ""),
        name=row["name"],
        kind=kinds.get(f"SPAN_KIND_{row['span_kind']}", Span.SPAN_KIND_UNSPECIFIED),
        start_time_unix_nano=nanos(row["start_time"]),
        end_time_unix_nano=nanos(row["end_time"]),
        attributes=[KeyValue(key=key, value=encoded(value)) for key, value in row["attributes"].items()],
        status=Status(
            code=codes.get(f"STATUS_CODE_{row['status_code']}", Status.STATUS_CODE_UNSET),
            message=row["status_message"] or "",
        ),
    ).SerializeToString()
    return sent


@settings(max_examples=30, deadline=None)
@given(st.lists(st.fixed_dictionaries(_SPANS), max_size=8, unique_by=lambda row: str(row["span_id"])))
def test_a_row_is_the_span_that_was_sent(rows: list[dict[str, Any]]) -> None:
    """Compares bytes, including the non-finite numbers and lone surrogates that Python writes in JSON."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "traced.db"
        database = sqlite3.connect(file)
        database.execute("CREATE TABLE agno_traces (trace_id VARCHAR, created_at VARCHAR)")
        database.execute(f"CREATE TABLE agno_spans ({', '.join(f'{name} VARCHAR' for name in _SPANS)})")
        for row in rows:
            times = {name: row[name].isoformat() for name in ("start_time", "end_time")}
            own = row | times | {"attributes": json.dumps(row["attributes"])}
            database.execute(
                "INSERT INTO agno_spans VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [own[name] for name in _SPANS]
            )
        database.commit()
        database.close()
        source = AgnoDatabase(f"sqlite:///{file}")
        spans = [span for batch in source.batches(lambda _: None) for span in batch["span"].to_pylist()]
    assert source.rejected == []
    assert sorted(spans) == sorted(map(as_sent, rows))
