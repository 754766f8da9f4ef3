"""DataFusion: Arrow batches in memory, as many partitions as there are cores."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from datafusion import SessionContext

from spanwise.bench.peers import Answer
from spanwise.bench.peers.sql import Dialect, run_queries, session_query

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from spanwise.bench.peers import Question

_BATCH = 65_536
_DIALECT = Dialect(
    instant=lambda text: f"arrow_cast('{text}', 'Timestamp(Microsecond, None)')",
    contains_ignoring_case=lambda key, text: f"contains(lower({key}), lower({text}))",
)


class DataFusion:
    """A session over one table."""

    def __init__(self, rows: pa.Table) -> None:
        """Registers `rows`, without a copy."""
        batches = rows.to_batches(max_chunksize=_BATCH)
        share = -(-len(batches) // (os.cpu_count() or 1))
        partitions = [batches[begin : begin + share] for begin in range(0, len(batches), share)]
        self._session = SessionContext()
        self._session.register_record_batches("traces", partitions)

    def prepare(self, question: Question) -> Callable[[], Answer]:
        """Returns what answers `question`."""
        if question.group_by == "session":
            grouped = session_query(question, _DIALECT)

            def find_sessions() -> Answer:
                ids, totals = self._columns(grouped)
                return Answer([str(session_id) for session_id in ids], int(str(totals[0])) if totals else 0)

            return find_sessions
        page, count = run_queries(question, _DIALECT)

        def find_runs() -> Answer:
            (ids,) = self._columns(page) or ([],)
            ((total,),) = self._columns(count)
            return Answer([str(trace_id) for trace_id in ids], int(str(total)))

        return find_runs

    def close(self) -> None:
        """Drops the table."""
        self._session.deregister_table("traces")

    def _columns(self, query: str) -> list[list[object]]:
        batches = [batch for batch in self._session.sql(query).collect() if batch.num_rows]
        count = batches[0].num_columns if batches else 0
        return [[value for batch in batches for value in batch.column(place).to_pylist()] for place in range(count)]


def open_engine(rows: pa.Table) -> DataFusion:
    """Returns DataFusion over `rows`."""
    return DataFusion(rows)
