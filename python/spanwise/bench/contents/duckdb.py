"""DuckDB, with three tables in memory: traces, spans, and what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from spanwise.bench.contents import LIMIT
from spanwise.bench.contents.sql import SUMS, query, text
from spanwise.bench.peers import QueryResult
from spanwise.bench.peers.duckdb import DIALECT

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.bench.contents import Contents, Question


class DuckDB:
    """A database in memory."""

    def __init__(self, contents: Contents) -> None:
        """Copies the contents."""
        self._database = database = duckdb.connect()
        for number, tables in enumerate(contents.tables()):
            for name, table in (("spans", tables.spans), ("texts", tables.texts)):
                database.register("chunk", table)
                database.execute(
                    f"CREATE TABLE {name} AS FROM chunk" if not number else f"INSERT INTO {name} FROM chunk"
                )
                database.unregister("chunk")
        rows = contents.rows
        database.register("rows", rows)
        database.execute(
            "CREATE TABLE traces AS SELECT * FROM (SELECT *, row_number() OVER () - 1 AS trace FROM rows) "  # noqa: S608  # our own
            f"JOIN ({SUMS}) USING (trace) ORDER BY trace"
        )
        database.unregister("rows")

    def answers(self, _: Question) -> bool:
        """Returns that it answers everything."""
        return True

    def prepare(self, question: Question) -> Callable[[], QueryResult]:
        """Returns a function that answers `question`."""
        asked = query(question, LIMIT, DIALECT, lambda pattern: f"contains(text, {text(pattern)})")

        def find() -> QueryResult:
            found = self._database.execute(asked).fetchall()
            return QueryResult([trace_id for trace_id, _ in found], found[0][1] if found else 0)

        return find

    def close(self) -> None:
        """Closes the database."""
        self._database.close()


def open_engine(contents: Contents) -> DuckDB:
    """Returns DuckDB with a copy of the contents."""
    return DuckDB(contents)
