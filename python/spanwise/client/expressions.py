"""Filter expressions as Python objects: what `F` and `S` build.

An expression is a mapping that stands for its JSON, so it can be searched with, printed, and compiled.

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
"""What a search takes: an expression, the same as a dict or as JSON, or nothing, which matches everything."""


@final
class Expression(Mapping[str, Any]):
    """A filter expression, immutable. `&`, `|` and `~` combine expressions; `str` returns the JSON."""

    __slots__ = ("_members",)
    __hash__ = None  # type: ignore[assignment]  # its values may be lists

    def __init__(self, members: Mapping[str, Any]) -> None:
        """Creates the expression that the members of a JSON object stand for; they are not checked."""
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
        """Returns the expression that is true where both are."""
        return _joined("AND", self, other)

    def __or__(self, other: Expression) -> Expression:
        """Returns the expression that is true where one of both is."""
        return _joined("OR", self, other)

    def __invert__(self) -> Expression:
        """Returns the expression that is true where this one is false; where a value is missing, neither is true."""
        if self._members["op"] == "NOT":
            return Expression(self._members["condition"])
        return Expression({"op": "NOT", "condition": self.to_dict()})

    def to_dict(self) -> Json:
        """Returns the expression as the values that JSON stands for."""
        return dict(self._members)

    def __str__(self) -> str:
        """Returns the expression as JSON."""
        return json.dumps(self._members, ensure_ascii=False)

    def __repr__(self) -> str:
        """Returns the JSON between the name of the class."""
        return f"Expression({self._members!r})"


def _joined(op: str, *parts: Expression) -> Expression:
    """Returns `AND` or `OR` of expressions; one of the same operator contributes its conditions."""
    conditions: list[Json] = []
    for part in parts:
        if not isinstance(part, Expression):
            return NotImplemented
        conditions += part["conditions"] if part["op"] == op else [part.to_dict()]
    return Expression({"op": op, "conditions": conditions})


def literal(value: object) -> object:
    """Returns a value as filters spell it.

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
    """Returns a filter as JSON; of bytes and text that they are JSON is not checked.

    Raises:
        TypeError: it is none of the types that a filter has, or a value within it has no JSON.
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
