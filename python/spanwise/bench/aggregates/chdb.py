"""Aggregations in chDB, ClickHouse in process, with a table in memory made from Arrow."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spanwise.bench.aggregates.sql import MICROSECONDS, Functions, answer, query
from spanwise.bench.peers.sql import Dialect

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from spanwise.bench.aggregates import Answer, Question

_DIALECT = Dialect(
    instant=lambda text: f"toDateTime64('{text}', 6, 'UTC')",
    contains_ignoring_case=lambda key, text: f"{key} ILIKE concat('%', {text}, '%')",
)
_FUNCTIONS = Functions(
    bucket=f"intDiv(toUnixTimestamp64Micro(start_time), {MICROSECONDS})",
    errors="countIf(status = 'ERROR')",
    percentile="quantileExactInclusive({})(duration_ms)",
    settings=" SETTINGS join_use_nulls = 1",
)


class ChDB:
    """A session with one table."""

    def __init__(self, rows: pa.Table) -> None:
        """Copies `rows`."""
        self._session: Any = import_module("chdb.session").Session()
        self._session.query("CREATE DATABASE bench ENGINE = Atomic")
        self._session.query("USE bench")
        table = rows  # noqa: F841  # the query names it
        # Arrow columns may have nulls; these have none, which makes them faster to read.
        columns = ", ".join(f"assumeNotNull({name}) AS {name}" for name in ("start_time", "status", "duration_ms"))
        chosen = f"SELECT * REPLACE ({columns}) FROM Python(table)"  # noqa: S608  # names of our own
        self._session.query(f"CREATE TABLE traces ENGINE = MergeTree ORDER BY start_time AS {chosen}")

    def prepare(self, question: Question) -> Callable[[], Answer]:
        """Returns a function that answers."""
        text = query(question, _DIALECT, _FUNCTIONS)

        def find() -> Answer:
            lines = self._session.query(text, "JSONCompactEachRow").bytes().splitlines()
            return answer(
                (int(place), int(bucket), int(count), int(errors), value)
                for place, bucket, count, errors, value in map(json.loads, lines)
            )

        return find

    def close(self) -> None:
        """Closes the session."""
        self._session.close()


def open_engine(rows: pa.Table) -> ChDB:
    """Returns chDB with a copy of `rows`."""
    return ChDB(rows)
