"""Polars, with a data frame: one lazy query filters, a second one orders the remaining rows."""

from __future__ import annotations

from datetime import datetime
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, cast

import polars as pl

from spanwise.bench.peers import QueryResult
from spanwise.bench.peers.leaves import leaf_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

    from spanwise.bench.peers import Expression, Query
    from spanwise.bench.peers.leaves import Leaf

_COMPARISONS: dict[str, Callable[[pl.Expr, object], pl.Expr]] = {
    "EQ": pl.Expr.eq,
    "NEQ": pl.Expr.ne,
    "GT": pl.Expr.gt,
    "GTE": pl.Expr.ge,
    "LT": pl.Expr.lt,
    "LTE": pl.Expr.le,
}


class Polars:
    """One data frame."""

    def __init__(self, rows: pa.Table) -> None:
        """Converts `rows` to the layout of Polars."""
        self._frame = cast("pl.DataFrame", pl.from_arrow(rows))

    def prepare(self, query: Query) -> Callable[[], QueryResult]:
        """Returns a function that executes `query`."""
        chosen = self.chosen(query.whole_filter)
        key, order = page_order(query)
        if query.group_by == "session":
            grouped = chosen.filter(pl.col(key).is_not_null()).group_by(key).agg(pl.col("start_time").max())
        else:
            grouped = chosen.select(*order)
        offset, limit = query.offset, query.limit

        def find() -> QueryResult:
            found = grouped.collect()
            # The fastest way to get a slice of ordered rows; `top_k` was slower.
            ordered = found.lazy().sort(*order, descending=list(order.values())).slice(offset, limit)
            return QueryResult(ordered.collect().get_column(key).to_list(), found.height)

        return find

    def chosen(self, expression: Expression) -> pl.LazyFrame:
        """Returns the rows that an expression matches."""
        return self._frame.lazy().filter(condition_of(expression))

    def close(self) -> None:
        """Drops the frame."""
        self._frame = pl.DataFrame()


def page_order(query: Query) -> tuple[str, dict[str, bool]]:
    """Returns the column of the ids on a page, and the columns to sort by, each with whether it descends."""
    if query.group_by == "session":
        return "session_id", {"start_time": True, "session_id": False}
    if query.sort.key == "start_time":
        return "trace_id", {"start_time": not query.sort.ascending, "trace_id": False}
    return "trace_id", {query.sort.key: not query.sort.ascending, "start_time": True, "trace_id": False}


def open_engine(rows: pa.Table) -> Polars:
    """Returns Polars with `rows`."""
    return Polars(rows)


def condition_of(expression: Expression) -> pl.Expr:
    """Returns an expression as a condition on the rows of a frame."""
    if not expression:
        return pl.lit(value=True)
    match expression["op"]:
        case "AND" | "OR" as word:
            parts = [condition_of(part) for part in cast("Sequence[Expression]", expression["conditions"])]
            return reduce(and_ if word == "AND" else or_, parts)
        case "NOT":
            return ~condition_of(cast("Expression", expression["condition"]))
        case _:
            return _condition(leaf_of(expression))


def _condition(leaf: Leaf) -> pl.Expr:
    column = pl.col(leaf.key)
    values = [datetime.fromisoformat(str(value)) if leaf.is_time else value for value in leaf.values]
    if leaf.folds and leaf.operator == "CONTAINS":
        # The fastest of three ways to ignore case. It folds ASCII letters only, which the queries are limited to.
        return column.str.contains_any([str(values[0])], ascii_case_insensitive=True)
    folded = column.str.to_lowercase() if leaf.folds else column
    match leaf.operator:
        case "EXISTS":
            return column.is_not_null()
        case "IN":
            return folded.is_in(values)
        case "CONTAINS":
            return column.str.contains(str(values[0]), literal=True)
        case "STARTSWITH":
            return folded.str.starts_with(str(values[0]))
        case operator:
            return _COMPARISONS[operator](folded, values[0])
