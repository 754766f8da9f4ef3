"""DuckDB: a query for each field, which is faster than grouping sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench.facets import FIELDS, LIMIT, Counts
from spanwise.bench.peers import duckdb
from spanwise.bench.peers.sql import where

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from spanwise.bench.facets import Facets, Question

_QUERY = """
WITH counts AS (SELECT {field} AS value, count(*) AS count FROM traces WHERE {chosen} GROUP BY value)
SELECT value, count, (SELECT count(value) FROM counts) FROM counts WHERE value IS NULL OR value IN
(SELECT value FROM counts WHERE value IS NOT NULL ORDER BY count DESC, value LIMIT {limit})
ORDER BY count DESC, value
"""


class DuckDB:
    """A database with a table or view `traces`."""

    def __init__(self, engine: duckdb.DuckDB) -> None:
        """Takes ownership of an engine for searches."""
        self._engine = engine

    def prepare(self, question: Question) -> Callable[[], Facets]:
        """Returns a function that answers `question`."""
        chosen = where(question.whole_condition, duckdb.DIALECT)
        queries = {field: _QUERY.format(field=field, chosen=chosen, limit=LIMIT) for field in FIELDS}
        database = self._engine.database
        return lambda: {field: _counts(database.execute(query).fetchall()) for field, query in queries.items()}

    def close(self) -> None:
        """Closes the database."""
        self._engine.close()


def _counts(rows: list[tuple[str | None, int, int]]) -> Counts:
    values = [(value, count) for value, count, _ in rows if value is not None]
    return Counts(values, rows[0][2] if rows else 0, sum(count for value, count, _ in rows if value is None))


def open_engine(rows: pa.Table) -> DuckDB:
    """Returns DuckDB with a copy of `rows`."""
    return DuckDB(duckdb.open_engine(rows))
