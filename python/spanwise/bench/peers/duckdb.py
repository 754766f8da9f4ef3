"""DuckDB, with an in-memory table created from Arrow, without manual indexes.

Data sets without documents are too large for memory: DuckDB reads the Parquet files of the store, and only verifies
results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb

from spanwise.bench.peers import QueryResult
from spanwise.bench.peers.sql import Dialect, ilike, run_queries, session_query

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from spanwise.bench.peers import Query

DIALECT = Dialect(
    instant=lambda text: f"TIMESTAMP '{text}'",
    contains_ignoring_case=ilike,
)


class DuckDB:
    """A connection to an in-memory database with a table or view `traces`.

    Attributes:
        database: the connection.
    """

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        """Takes ownership of the connection."""
        self.database = database

    def prepare(self, query: Query) -> Callable[[], QueryResult]:
        """Returns a function that executes `query`."""
        database = self.database
        if query.group_by == "session":
            grouped = session_query(query, DIALECT)

            def find_sessions() -> QueryResult:
                found = database.execute(grouped).fetchall()
                return QueryResult([session_id for session_id, _ in found], found[0][1] if found else 0)

            return find_sessions
        page, count = run_queries(query, DIALECT)

        def find_runs() -> QueryResult:
            ids = [trace_id for (trace_id,) in database.execute(page).fetchall()]
            ((total,),) = database.execute(count).fetchall()
            return QueryResult(ids, total)

        return find_runs

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Returns the rows of a query."""
        return self.database.execute(text).fetchall()

    def close(self) -> None:
        """Closes the database."""
        self.database.close()


def open_engine(rows: pa.Table) -> DuckDB:
    """Returns DuckDB with a copy of `rows`."""
    database = duckdb.connect()
    database.register("rows", rows)
    database.execute("CREATE TABLE traces AS SELECT * FROM rows")
    database.unregister("rows")
    return DuckDB(database)


def open_files(store: Path) -> DuckDB:
    """Returns DuckDB with a view of the Parquet files of a closed store."""
    database = duckdb.connect()
    files = str(store / "segments" / "*" / "traces.parquet").replace("'", "''")
    # The files have instants; queries use UTC timestamps without a time zone.
    instant = "make_timestamp(epoch_us(start_time)) AS start_time"
    database.execute(f"CREATE VIEW traces AS SELECT * REPLACE ({instant}) FROM '{files}'")  # noqa: S608  # our own files
    return DuckDB(database)
