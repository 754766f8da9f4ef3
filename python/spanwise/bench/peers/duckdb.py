"""DuckDB: a table in memory, as `CREATE TABLE ... AS` makes it from Arrow, with no index made by hand.

Of rows without documents, which are too many for that, it reads the files of the store; then only its answers count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from spanwise.bench.peers import Answer
from spanwise.bench.peers.sql import Dialect, run_queries, session_query

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from spanwise.bench.peers import Question

_DIALECT = Dialect(
    instant=lambda text: f"TIMESTAMP '{text}'",
    contains_ignoring_case=lambda key, text: f"{key} ILIKE '%' || {text} || '%'",
)


class DuckDB:
    """A connection to a database in memory, in which `traces` has the columns that are asked for."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        """Takes over the connection."""
        self._database = database

    def prepare(self, question: Question) -> Callable[[], Answer]:
        """Returns what answers `question`."""
        database = self._database
        if question.group_by == "session":
            grouped = session_query(question, _DIALECT)

            def find_sessions() -> Answer:
                found = database.execute(grouped).fetchall()
                return Answer([session_id for session_id, _ in found], found[0][1] if found else 0)

            return find_sessions
        page, count = run_queries(question, _DIALECT)

        def find_runs() -> Answer:
            ids = [trace_id for (trace_id,) in database.execute(page).fetchall()]
            ((total,),) = database.execute(count).fetchall()
            return Answer(ids, total)

        return find_runs

    def close(self) -> None:
        """Drops the database."""
        self._database.close()


def open_engine(rows: pa.Table) -> DuckDB:
    """Returns DuckDB over a copy of `rows`."""
    database = duckdb.connect()
    database.register("given", rows)
    database.execute("CREATE TABLE traces AS SELECT * FROM given")
    database.unregister("given")
    return DuckDB(database)


def open_files(store: Path) -> DuckDB:
    """Returns DuckDB over the rows of a closed store, as they lie in its files."""
    database = duckdb.connect()
    files = str(store / "segments" / "*" / "traces.parquet").replace("'", "''")
    # In the files a time is an instant; questions are asked in UTC.
    instant = "make_timestamp(epoch_us(start_time)) AS start_time"
    database.execute(f"CREATE VIEW traces AS SELECT * REPLACE ({instant}) FROM '{files}'")  # noqa: S608  # our own files
    return DuckDB(database)
