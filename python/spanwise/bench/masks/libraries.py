"""Spanwise, PyArrow and Polars, each with the columns of one batch."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, cast

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from spanwise.bench.errors import WrongResultError
from spanwise.bench.peers.leaves import leaf_of
from spanwise.bench.peers.polars import condition_of
from spanwise.traces import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from spanwise.bench.masks import Condition
    from spanwise.bench.peers import Expression

_COMPARISONS = {
    "EQ": pc.equal,
    "NEQ": pc.not_equal,
    "GT": pc.greater,
    "GTE": pc.greater_equal,
    "LT": pc.less,
    "LTE": pc.less_equal,
}
_UNKNOWN = pa.scalar(None, pa.bool_())


class Spanwise:
    """Filters that are compiled before the time is taken."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        """Takes the columns as they are."""
        self._batch = batch

    def answers(self, _: Condition) -> bool:
        """Returns whether there is such an operation: always."""
        return True

    def prepare(self, condition: Condition) -> Callable[[], Any]:
        """Returns a function that returns the mask."""
        return partial(Filter.compile(msgspec.json.encode(condition.filter)).mask, self._batch)


class PyArrow:
    """Compute functions of PyArrow, whole columns one after another."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        """Takes the columns as they are."""
        self._columns = {name: batch.column(name) for name in batch.schema.names}

    def answers(self, condition: Condition) -> bool:
        """Returns whether there are such functions for the types of the columns."""
        try:
            self.prepare(condition)()
        except pa.ArrowNotImplementedError:
            return False
        return True

    def prepare(self, condition: Condition) -> Callable[[], Any]:
        """Returns a function that returns the mask."""
        return _prepared(condition.filter, self._columns, is_negated=False)


class Polars:
    """A data frame, in which the columns have the layout of Polars before the time is taken."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        """Converts the columns; dictionaries become `Categorical`, and times lose their zone, which is UTC."""
        frame = cast("pl.DataFrame", pl.from_arrow(pa.table(batch))).rechunk()
        zoned = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
        self._frame = frame.with_columns(pl.col(name).dt.replace_time_zone(None) for name in zoned)

    def answers(self, condition: Condition) -> bool:
        """Returns whether there are such expressions for the types of the columns."""
        try:
            self.prepare(condition)()
        except pl.exceptions.PolarsError:
            return False
        return True

    def prepare(self, condition: Condition) -> Callable[[], Any]:
        """Returns a function that returns the mask."""
        expression = condition_of(condition.filter)
        return lambda: self._frame.select(expression).to_series()


def as_arrow(mask: Any) -> pa.BooleanArray:  # noqa: ANN401  # whatever a library returns
    """Returns a mask of any of the three without nulls, which count as false."""
    if isinstance(mask, pl.Series):
        return mask.fill_null(value=False).to_arrow().cast(pa.bool_())
    return pc.fill_null(pa.array(mask), pa.scalar(value=False))


def compare(condition: Condition, expected: Any, name: str, found: Any) -> None:  # noqa: ANN401  # likewise
    """Compares two masks.

    Raises:
        WrongResultError: they differ.
    """
    wanted, own = as_arrow(expected), as_arrow(found)
    if not own.equals(wanted):
        raise WrongResultError(
            f"{name} finds {own.true_count} rows, another {wanted.true_count}, for {condition.filter}"
        )


def _prepared(expression: Expression, columns: Mapping[str, pa.Array], *, is_negated: bool) -> Callable[[], Any]:
    """Returns an expression over columns in the functions of PyArrow; its literals are converted beforehand."""
    match expression["op"]:
        case "AND" | "OR" as word:
            join = pc.and_kleene if word == "AND" else pc.or_kleene
            given = cast("Sequence[Expression]", expression["conditions"])
            parts = [_prepared(part, columns, is_negated=is_negated) for part in given]
            return lambda: reduce(join, [part() for part in parts])
        case "NOT":
            inner = _prepared(cast("Expression", expression["condition"]), columns, is_negated=True)
            return lambda: pc.invert(inner())
        case _:
            return _condition(expression, columns, is_negated=is_negated)


def _condition(expression: Expression, columns: Mapping[str, pa.Array], *, is_negated: bool) -> Callable[[], Any]:
    condition = leaf_of(expression)
    column = columns[condition.key]
    values = [datetime.fromisoformat(str(value)) if condition.is_time else value for value in condition.values]
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    match condition.operator:
        case "EXISTS":
            return lambda: pc.is_valid(column)
        case "IN":
            listed = _literals(values, kind)
            if is_negated and column.null_count:
                # PyArrow's `is_in` is false for what is missing, and its negation would be true.
                return lambda: pc.if_else(pc.is_valid(column), pc.is_in(column, listed), _UNKNOWN)
            return lambda: pc.is_in(column, listed)
        case "CONTAINS":
            return lambda: pc.match_substring(column, str(values[0]), ignore_case=condition.folds)
        case "STARTSWITH":
            return lambda: pc.starts_with(column, str(values[0]), ignore_case=condition.folds)
        case operator:
            (literal,) = _literals(values, kind)
            return lambda: _COMPARISONS[operator](column, literal)


def _literals(values: Sequence[str | float | datetime], kind: pa.DataType) -> pa.Array:
    """Returns literals in the type of their column; a day is its midnight, and compared as such."""
    moments = [value.replace(tzinfo=UTC) if isinstance(value, datetime) else value for value in values]
    wanted = pa.timestamp("s", "UTC") if pa.types.is_date(kind) else kind
    literals = pa.array(moments, pa.timestamp("us", "UTC") if isinstance(moments[0], datetime) else None)
    literals = literals.cast(wanted)
    return literals.cast(kind) if pa.types.is_date(kind) else literals
