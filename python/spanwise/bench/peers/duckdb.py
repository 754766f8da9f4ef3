"""DuckDB: a table in memory, as `CREATE TABLE ... AS` makes it from Arrow, with no index made by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

from spanwise.bench.peers import Answer
from spanwise.bench.peers.sql import Dialect, run_queries, session_query

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from spanwise.bench.peers import Question

_DIALECT = Dialect(
    instant=lambda text: f"TIMESTAMP '{text}'",
    contains_ignoring_case=lambda key, text: f"{key} ILIKE '%' || {text} || '%'",
)


class DuckDB:
    """A connection to a database in memory."""

    def __init__(self, rows: pa.Table) -> None:
        """Copies `rows` into a table."""
        self._database = duckdb.connect()
        self._database.register("given", rows)
        self._database.execute("CREATE TABLE traces AS SELECT * FROM given")
        self._database.unregister("given")

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
    """Returns DuckDB over `rows`."""
    return DuckDB(rows)
