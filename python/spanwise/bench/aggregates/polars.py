"""Aggregations in Polars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from spanwise.bench.aggregates import AGENTS, INTERVAL, OTHERS, QUANTILE
from spanwise.bench.aggregates.sql import answer
from spanwise.bench.peers import polars

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from spanwise.bench.aggregates import Answer, Question

_MICROSECONDS = int(INTERVAL.total_seconds()) * 1_000_000


class Polars:
    """One data frame."""

    def __init__(self, opened: polars.Polars) -> None:
        """Takes ownership of an opened engine."""
        self._opened = opened

    def prepare(self, question: Question) -> Callable[[], Answer]:
        """Returns a function that answers."""
        bucket = (pl.col("start_time").dt.timestamp("us") // _MICROSECONDS).alias("bucket")
        cell = (
            pl.len().alias("count"),
            (pl.col("status") == "ERROR").sum().alias("errors"),
            pl.col("duration_ms").quantile(QUANTILE, "linear").alias("percentile"),
        )

        def find() -> Answer:
            chosen = self._opened.chosen(question.whole_filter)
            if question.by_agent:
                agents = chosen.group_by("agent_id").len()
                order = agents.sort("len", "agent_id", descending=[True, False], nulls_last=[False, True])
                kept = order.head(AGENTS).with_row_index("place")
                chosen = chosen.join(
                    kept.select("agent_id", "place"), on="agent_id", how="left", nulls_equal=True
                ).with_columns(pl.col("place").fill_null(OTHERS))
            else:
                chosen = chosen.with_columns(pl.lit(0).alias("place"))
            found = chosen.group_by("place", bucket).agg(*cell).collect()
            return answer(found.iter_rows())

        return find

    def close(self) -> None:
        """Drops the frame."""
        self._opened.close()


def open_engine(rows: pa.Table) -> Polars:
    """Returns Polars with `rows`."""
    return Polars(polars.open_engine(rows))
