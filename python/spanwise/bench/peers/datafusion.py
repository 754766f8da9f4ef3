"""DataFusion, with Arrow batches in memory in one partition per core."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from datafusion import SessionContext

from spanwise.bench.peers import QueryResult
from spanwise.bench.peers.sql import Dialect, run_queries, session_query

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from spanwise.bench.peers import Query

_BATCH = 65_536
_DIALECT = Dialect(
    instant=lambda text: f"arrow_cast('{text}', 'Timestamp(Microsecond, None)')",
    contains_ignoring_case=lambda key, text: f"contains(lower({key}), {text})",
)


class DataFusion:
    """A session with one table."""

    def __init__(self, rows: pa.Table) -> None:
        """Registers `rows` without copying them."""
        batches = rows.to_batches(max_chunksize=_BATCH)
        share = -(-len(batches) // (os.cpu_count() or 1))
        partitions = [batches[begin : begin + share] for begin in range(0, len(batches), share)]
        self._session = SessionContext()
        self._session.register_record_batches("traces", partitions)

    def prepare(self, query: Query) -> Callable[[], QueryResult]:
        """Returns a function that executes `query`."""
        if query.group_by == "session":
            grouped = session_query(query, _DIALECT)

            def find_sessions() -> QueryResult:
                ids, totals = self._columns(grouped) or ([], [])
                return QueryResult([str(session_id) for session_id in ids], int(str(totals[0])) if totals else 0)

            return find_sessions
        page, count = run_queries(query, _DIALECT)

        def find_runs() -> QueryResult:
            (ids,) = self._columns(page) or ([],)
            ((total,),) = self._columns(count)
            return QueryResult([str(trace_id) for trace_id in ids], int(str(total)))

        return find_runs

    def close(self) -> None:
        """Drops the table."""
        self._session.deregister_table("traces")

    def _columns(self, query: str) -> list[list[object]]:
        batches = [batch for batch in self._session.sql(query).collect() if batch.num_rows]
        count = batches[0].num_columns if batches else 0
        return [[value for batch in batches for value in batch.column(index).to_pylist()] for index in range(count)]


def open_engine(rows: pa.Table) -> DataFusion:
    """Returns DataFusion with `rows`."""
    return DataFusion(rows)
