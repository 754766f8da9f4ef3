"""Aggregations in DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench.aggregates.sql import MICROSECONDS, Functions, answer, query
from spanwise.bench.peers import duckdb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from spanwise.bench.aggregates import Answer, Question

_FUNCTIONS = Functions(
    bucket=f"epoch_us(start_time) // {MICROSECONDS}",
    errors="count(*) FILTER (status = 'ERROR')",
    percentile="quantile_cont(duration_ms, {})",
)


class DuckDB:
    """A database with the rows."""

    def __init__(self, opened: duckdb.DuckDB) -> None:
        """Takes ownership of an opened engine."""
        self._opened = opened

    def prepare(self, question: Question) -> Callable[[], Answer]:
        """Returns a function that answers."""
        text = query(question, duckdb.DIALECT, _FUNCTIONS)
        return lambda: answer(self._opened.rows(text))

    def close(self) -> None:
        """Closes the database."""
        self._opened.close()


def open_engine(rows: pa.Table) -> DuckDB:
    """Returns DuckDB with a copy of `rows`."""
    return DuckDB(duckdb.open_engine(rows))


def open_files(store: Path) -> DuckDB:
    """Returns DuckDB with a view of the Parquet files of a closed store."""
    return DuckDB(duckdb.open_files(store))
