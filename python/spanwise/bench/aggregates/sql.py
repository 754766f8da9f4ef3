"""Aggregations as SQL, for DuckDB and chDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spanwise.bench.aggregates import AGENTS, INTERVAL, OTHERS, QUANTILE, Answer, Cell
from spanwise.bench.peers.sql import where

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwise.bench.aggregates import Question
    from spanwise.bench.peers.sql import Dialect

MICROSECONDS = int(INTERVAL.total_seconds()) * 1_000_000


class Functions(NamedTuple):
    """How an engine names what it computes.

    Attributes:
        bucket: the number of the bucket of `start_time`.
        errors: the number of failed traces.
        percentile: the percentile of `duration_ms`, with `{}` for its fraction.
        settings: what stands at the end of a query.
    """

    bucket: str
    errors: str
    percentile: str
    settings: str = ""


def query(question: Question, dialect: Dialect, functions: Functions) -> str:
    """Returns the query: the number of the group and of the bucket, then the cell."""
    chosen = where(question.whole_filter, dialect)
    cell = f"count(*), {functions.errors}, {functions.percentile.format(QUANTILE)}"
    bucket = functions.bucket
    if not question.by_agent:
        return f"SELECT 0 AS place, {bucket} AS bucket, {cell} FROM traces WHERE {chosen} GROUP BY bucket"  # noqa: S608  # generated values only
    # A missing agent is a group like others: an empty text stands for it, which is no agent's id.
    return (
        f"WITH chosen AS (SELECT coalesce(agent_id, '') AS agent, start_time, status, duration_ms FROM traces "  # noqa: S608  # likewise
        f"WHERE {chosen}), kept AS (SELECT agent AS kept_agent, row_number() OVER (ORDER BY count(*) DESC, "
        f"agent = '', agent) - 1 AS place FROM chosen GROUP BY agent ORDER BY place LIMIT {AGENTS}) "
        f"SELECT coalesce(place, {OTHERS}) AS place, {bucket} AS bucket, {cell} "
        f"FROM chosen LEFT JOIN kept ON agent = kept_agent GROUP BY ALL{functions.settings}"
    )


def answer(rows: Iterable[tuple[int, int, int, int, float]]) -> Answer:
    """Returns the rows of a result as an answer."""
    return {(place, bucket): Cell(count, errors, value) for place, bucket, count, errors, value in rows}
