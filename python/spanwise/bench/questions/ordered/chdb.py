"""chDB, ClickHouse in process: rows by start time, and `LowCardinality` where a column has few values."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from spanwise.bench.peers import QueryResult
from spanwise.bench.peers.sql import Dialect, run_queries, session_query

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from spanwise.bench.peers import Query

_DIALECT = Dialect(
    instant=lambda text: f"toDateTime64('{text}', 6, 'UTC')",
    contains_ignoring_case=lambda key, text: f"positionCaseInsensitive({key}, {text}) > 0",
    contains=lambda key, text: f"position({key}, {text}) > 0",
    starts_with="startsWith({}, {})".format,
    lower="lowerUTF8({})".format,
    # `IN` is false for what is null in ClickHouse, not unknown.
    negated_in=lambda key, found: f"if(isNull({key}), NULL, {found})",
)
_COLUMNS = (
    "trace_id String, run_id Nullable(String), session_id Nullable(String), user_id LowCardinality(Nullable(String)), "
    "agent_id LowCardinality(Nullable(String)), name LowCardinality(String), status LowCardinality(String), "
    "duration_ms Int64, start_time DateTime64(6, 'UTC')"
)


def absent() -> str | None:
    """Returns why it cannot be had here; None if it can."""
    return None if find_spec("chdb") else "chDB is not installed"


class ChDB:
    """A session with one table, which is on disk until it is closed."""

    def __init__(self, rows: pa.Table) -> None:
        """Copies `rows` in the order of their start times."""
        self._session: Any = import_module("chdb.session").Session()
        self._session.query("CREATE DATABASE bench ENGINE = Atomic")
        self._session.query("USE bench")
        self._session.query(f"CREATE TABLE traces ({_COLUMNS}) ENGINE = MergeTree ORDER BY start_time")
        table = rows  # noqa: F841  # the query names it
        names = ", ".join(rows.column_names)
        self._session.query(f"INSERT INTO traces ({names}) SELECT {names} FROM Python(table)")  # noqa: S608  # our own
        self._session.query("OPTIMIZE TABLE traces FINAL")

    def prepare(self, query: Query) -> Callable[[], QueryResult]:
        """Returns a function that executes `query`."""
        if query.group_by == "session":
            grouped = session_query(query, _DIALECT)

            def find_sessions() -> QueryResult:
                found = self._rows(grouped)
                return QueryResult([session_id for session_id, _ in found], int(found[0][1]) if found else 0)

            return find_sessions
        page, count = run_queries(query, _DIALECT)

        def find_runs() -> QueryResult:
            ids = [trace_id for (trace_id,) in self._rows(page)]
            ((total,),) = self._rows(count)
            return QueryResult(ids, int(total))

        return find_runs

    def close(self) -> None:
        """Closes the session and removes its table."""
        self._session.close()

    def _rows(self, text: str) -> list[list[Any]]:
        return [json.loads(line) for line in self._session.query(text, "JSONCompactEachRow").bytes().splitlines()]


def open_engine(rows: pa.Table, _: Path) -> ChDB:
    """Returns chDB with a copy of `rows`."""
    return ChDB(rows)
