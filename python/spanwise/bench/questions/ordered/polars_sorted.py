"""Polars, told that its rows are sorted: what is left after a filter is in the order of a page already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from spanwise.bench.peers import NEWEST_FIRST, QueryResult
from spanwise.bench.peers.polars import Polars, page_order

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from spanwise.bench.peers import Query


def absent() -> str | None:
    """Returns why it cannot be had here: Polars always can."""
    return None


class PolarsSorted(Polars):
    """One data frame, newest first; times are marked as descending."""

    def __init__(self, rows: pa.Table) -> None:
        """Converts `rows`, which are newest first."""
        super().__init__(rows)
        self._frame = self._frame.with_columns(pl.col("start_time").set_sorted(descending=True))

    def prepare(self, query: Query) -> Callable[[], QueryResult]:
        """Returns a function that executes `query`; only orders that differ from that of the rows are sorted."""
        if query.sort != NEWEST_FIRST:
            return super().prepare(query)
        offset, limit = query.offset, query.limit
        chosen = self.chosen(query.whole_filter)
        if query.group_by == "run":
            ids = chosen.select("trace_id")

            def find_runs() -> QueryResult:
                found = ids.collect()
                return QueryResult(found.slice(offset, limit).get_column("trace_id").to_list(), found.height)

            return find_runs
        key, order = page_order(query)
        grouped = chosen.filter(pl.col(key).is_not_null()).group_by(key).agg(pl.col("start_time").first())

        def find_sessions() -> QueryResult:
            found = grouped.collect()
            ordered = found.lazy().sort(*order, descending=list(order.values())).slice(offset, limit)
            return QueryResult(ordered.collect().get_column(key).to_list(), found.height)

        return find_sessions


def open_engine(rows: pa.Table, _: Path) -> PolarsSorted:
    """Returns Polars with `rows`."""
    return PolarsSorted(rows)
