"""The fields of traces (`F`) and spans (`S`), used in filters and measures.

Source: `docs/reference/filter.md#fields`, `docs/reference/filter.md#spans`.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from msgspec import Raw

from spanwise.api.aggregates import Measure, Operation
from spanwise.client.expressions import Expression, FilterLike, encoded, literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Value = TypeVar("Value")
Instant: TypeAlias = datetime | date | str
"""A time, with a time zone or as ISO 8601. A date means its midnight in UTC."""


class Field(Generic[Value]):
    """A field of a filter. The filter compiler checks which comparisons it supports."""

    __slots__ = ("key",)
    __hash__ = None  # type: ignore[assignment]  # fields are compared to build expressions

    def __init__(self, key: str) -> None:
        """Creates the field with this key."""
        self.key = key

    def __repr__(self) -> str:
        """Returns the key."""
        return f"<field {self.key}>"

    def __eq__(self, value: Value) -> Expression:  # type: ignore[override]
        """Returns `EQ`."""
        return self._compared("EQ", value)

    def __ne__(self, value: Value) -> Expression:  # type: ignore[override]
        """Returns `NEQ`. Not true where the field has no value."""
        return self._compared("NEQ", value)

    def is_in(self, values: Iterable[Value]) -> Expression:
        """Returns `IN`: the field equals one of `values`."""
        return Expression({"op": "IN", "key": self.key, "values": [literal(value) for value in values]})

    def exists(self) -> Expression:
        """Returns `EXISTS`: the field has a value."""
        return Expression({"op": "EXISTS", "key": self.key})

    def _compared(self, op: str, value: object, ignore_case: bool | None = None) -> Expression:  # noqa: FBT001
        members = {"op": op, "key": self.key, "value": literal(value)}
        return Expression(members if ignore_case is None else members | {"ignore_case": ignore_case})


class OrderedField(Field[Value]):
    """A field with ordered values."""

    __slots__ = ()

    def __gt__(self, value: Value) -> Expression:
        """Returns `GT`."""
        return self._compared("GT", value)

    def __ge__(self, value: Value) -> Expression:
        """Returns `GTE`."""
        return self._compared("GTE", value)

    def __lt__(self, value: Value) -> Expression:
        """Returns `LT`."""
        return self._compared("LT", value)

    def __le__(self, value: Value) -> Expression:
        """Returns `LTE`."""
        return self._compared("LTE", value)


class _MatchedField(Field[Value]):
    """A field whose values can be text."""

    __slots__ = ()

    def equals(self, text: str, *, ignore_case: bool = False) -> Expression:
        """Returns `EQ`, optionally ignoring case."""
        return self._compared("EQ", text, ignore_case or None)

    def contains(self, text: str, *, ignore_case: bool = True) -> Expression:
        """Returns `CONTAINS`."""
        return self._compared("CONTAINS", text, None if ignore_case else False)

    def startswith(self, text: str, *, ignore_case: bool = False) -> Expression:
        """Returns `STARTSWITH`."""
        return self._compared("STARTSWITH", text, ignore_case or None)


class TextField(OrderedField[str], _MatchedField[str]):
    """A text, compared by code point."""

    __slots__ = ()

    def count_distinct(self, *, where: FilterLike = None) -> Measure:
        """Returns the measure that counts distinct values. For traces only, not for spans."""
        return measure(Operation.COUNT_DISTINCT, where, key=self.key)


class NumberField(OrderedField[float]):
    """A number."""

    __slots__ = ()

    def sum(self, *, where: FilterLike = None) -> Measure:
        """Returns the measure of the sum."""
        return measure(Operation.SUM, where, key=self.key)

    def avg(self, *, where: FilterLike = None) -> Measure:
        """Returns the measure of the arithmetic mean."""
        return measure(Operation.AVG, where, key=self.key)

    def min(self, *, where: FilterLike = None) -> Measure:
        """Returns the measure of the minimum."""
        return measure(Operation.MIN, where, key=self.key)

    def max(self, *, where: FilterLike = None) -> Measure:
        """Returns the measure of the maximum."""
        return measure(Operation.MAX, where, key=self.key)

    def quantile(self, q: float, *, where: FilterLike = None) -> Measure:
        """Returns the measure of the quantile `q`, from 0 to 1."""
        return measure(Operation.QUANTILE, where, key=self.key, q=q)

    def histogram(
        self, bins: int = 20, *, scale: Literal["linear", "log"] = "linear", where: FilterLike = None
    ) -> Measure:
        """Returns the measure of value counts in up to `bins` ranges of equal (`linear`) or growing (`log`) width."""
        return measure(Operation.HISTOGRAM, where, key=self.key, bins=bins, scale=scale)


class TimeField(OrderedField[Instant]):
    """An instant."""

    __slots__ = ()


class StatusField(Field[str]):
    """`OK` or `ERROR`."""

    __slots__ = ()

    def count_distinct(self, *, where: FilterLike = None) -> Measure:
        """Returns the measure that counts distinct values. For traces only, not for spans."""
        return measure(Operation.COUNT_DISTINCT, where, key=self.key)


class ContentField:
    """Content: text of any length, searched with `contains`."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        """Creates the field with this key."""
        self.key = key

    def contains(self, text: str, *, ignore_case: bool = True) -> Expression:
        """Returns `CONTAINS`."""
        return TextField(self.key).contains(text, ignore_case=ignore_case)

    def exists(self) -> Expression:
        """Returns `EXISTS`: there is such content."""
        return TextField(self.key).exists()


class BooleanField(Field[bool]):
    """True or false."""

    __slots__ = ()


class AttributeField(OrderedField[str | float | bool], _MatchedField[str | float | bool]):
    """An attribute. A comparison is true only if the value has the compared type."""

    __slots__ = ()


def measure(operation: Operation, where: FilterLike, **members: object) -> Measure:
    """Returns a measure without a name. `where` selects the measured traces of a group."""
    return Measure(name="?", op=operation, condition=Raw(encoded(where)), **members)  # type: ignore[arg-type]
