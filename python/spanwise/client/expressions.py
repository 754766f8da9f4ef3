"""Filter expressions as Python objects, built by `F` and `S`.

An expression is a mapping that equals its JSON. It can be passed to a search, printed or compiled.

Source: `docs/reference/filter.md#filter-expression`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any, NoReturn, TypeAlias, final

Json: TypeAlias = dict[str, Any]
FilterLike: TypeAlias = "Expression | Mapping[str, Any] | str | bytes | None"
"""A filter: an expression, a dict, or JSON. None matches everything."""


@final
class Expression(Mapping[str, Any]):
    """A filter expression, immutable. `&`, `|` and `~` combine expressions; `str` returns the JSON."""

    __slots__ = ("_members",)
    __hash__ = None  # type: ignore[assignment]  # its values may be lists

    def __init__(self, members: Mapping[str, Any]) -> None:
        """Creates an expression from the members of its JSON object, without validating them."""
        self._members = dict(members)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  # any JSON value
        """Returns a member."""
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        """Iterates over the names of the members."""
        return iter(self._members)

    def __len__(self) -> int:
        """Returns the number of members."""
        return len(self._members)

    def __bool__(self) -> NoReturn:
        """Raises an error: `and`, `or`, `not` and chained comparisons would drop a part of the expression.

        Raises:
            TypeError: always.
        """
        raise TypeError("a filter expression has no truth value, expected `&`, `|` and `~` between expressions")

    def __and__(self, other: Expression) -> Expression:
        """Returns the expression that is true where both are true."""
        return _joined("AND", self, other)

    def __or__(self, other: Expression) -> Expression:
        """Returns the expression that is true where at least one is true."""
        return _joined("OR", self, other)

    def __invert__(self) -> Expression:
        """Returns the expression that is true where this one is false. Both are not true where a value is missing."""
        if self._members["op"] == "NOT":
            return Expression(self._members["condition"])
        return Expression({"op": "NOT", "condition": self.to_dict()})

    def to_dict(self) -> Json:
        """Returns the expression as plain JSON values."""
        return dict(self._members)

    def __str__(self) -> str:
        """Returns the expression as JSON."""
        return json.dumps(self._members, ensure_ascii=False)

    def __repr__(self) -> str:
        """Returns the JSON in parentheses after the class name."""
        return f"Expression({self._members!r})"


def _joined(op: str, *parts: Expression) -> Expression:
    """Joins expressions with `AND` or `OR`. An expression with the same operator adds its own conditions."""
    conditions: list[Json] = []
    for part in parts:
        if not isinstance(part, Expression):
            return NotImplemented
        conditions += part["conditions"] if part["op"] == op else [part.to_dict()]
    return Expression({"op": op, "conditions": conditions})


def literal(value: object) -> object:
    """Returns a value in its filter syntax.

    Raises:
        ValueError: a time has no time zone.
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"expected a time with a time zone, got {value!r}")
        return value.isoformat()
    return value.isoformat() if isinstance(value, date) else value


def encoded(source: FilterLike) -> bytes:
    """Returns a filter as JSON. Bytes and text are passed on without validation.

    Raises:
        TypeError: the type cannot be a filter, or a value in it cannot be represented as JSON.
    """
    match source:
        case None:
            return b"null"
        case bytes():
            return source
        case str():
            return source.encode()
        case Expression():
            return str(source).encode()
        case Mapping():
            return json.dumps(dict(source), ensure_ascii=False).encode()
        case _:
            raise TypeError(f"expected a filter expression, `dict`, `str` or `bytes`, got `{type(source).__name__}`")
