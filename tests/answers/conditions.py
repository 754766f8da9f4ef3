"""Seeded filters over the values of a store, with every operator on every field."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from answers.survey import Field, Survey

Condition = dict[str, Any]
Item = TypeVar("Item")
_MAX_SPANS = 8
"""`SPAN` and axes in one filter."""
_MAX_DEPTH_OF_AXES = 3
_MAX_PATTERNS = 16
_TEXTS = ("", "e", "OK", "é", "Zoë", "\U0001f600", "x" * 300, "no such value", "2026-01-01T00:00:00Z", "10%", "_")
_NUMBERS = (0, 1, 2, 7, 100, 1_000, 0.5, -1, 2**53, 1e12)
_TIMES = ("2026-09-21T12:00:00Z", "2026-10-01", "2026-09-25 06:00:00+02:00", "0001-01-01T00:00:00Z", "2030-01-01")
_PATTERNS = (
    "book a table",
    "example.com",
    "rate limit",
    "retry after 20 s",
    "東京",
    "気",
    "snake_case",
    "case_name of",
    "A-1042",
    '"the blue',
    "it\nagain",
    "TIMEOUT",
    "Atlantis",
    "table",
    "abl",
    "no such text",
    "e",
    "user-4711",
    "Команда",
    "не найдена",
)
_NUMBER_OPERATORS = ("EQ", "NEQ", "IN", "GT", "GTE", "LT", "LTE", "EXISTS")
_STRING_OPERATORS = (*_NUMBER_OPERATORS, "CONTAINS", "STARTSWITH")
_CASE_OPERATORS = ("EQ", "NEQ", "IN", "CONTAINS", "STARTSWITH")


class Deck(Generic[Item]):
    """Draws each item once before any item again."""

    def __init__(self, draw: Random, items: Iterable[Item]) -> None:
        self._draw = draw
        self._items = list(items)
        self._left: list[Item] = []

    def next(self) -> Item:
        if not self._left:
            self._left = self._draw.sample(self._items, len(self._items))
        return self._left.pop()


class Conditions:
    """Draws filters."""

    def __init__(self, draw: Random, survey: Survey) -> None:
        self._draw = draw
        self._survey = survey
        columns = [(field, op) for field in survey.fields if field.type != "text" for op in field.operators]
        texts = [(field, op) for field in survey.fields if field.type == "text" for op in field.operators]
        # Most searches of texts are for a pattern.
        self._columns, self._texts = (
            Deck(draw, columns),
            Deck(draw, texts + [each for each in texts * 4 if _is_pattern(each[1])]),
        )
        self._span_fields = Deck(draw, [(field, op) for field in survey.span_fields for op in field.operators])
        self._attributes = Deck(draw, sorted(survey.attributes))
        self._frequent_attributes = Deck(draw, survey.frequent_attributes)
        self._axes = Deck(draw, sorted(survey.axes))
        self._spans_left = self._patterns_left = 0
        self._names = 0

    def filter(self) -> Condition:
        """Draws a filter expression."""
        self._begin()
        return {} if self._draw.randrange(14) == 0 else self._tree(self._draw.choice((0, 0, 0, 1, 1, 2, 3)))

    def contents_filter(self) -> Condition:
        """Draws a filter that has conditions on texts, spans or attributes."""
        self._begin()
        inner = self._draw.choices((self._text, self._span, self._attribute), (5, 3, 2))[0]()
        if self._draw.randrange(2):
            return inner
        return {"op": self._draw.choice(("AND", "OR")), "conditions": [inner, self._tree(1)]}

    def span_filter(self) -> Condition:
        """Draws a condition on one span."""
        self._begin()
        return {} if self._draw.randrange(12) == 0 else self._on_span(self._draw.choice((0, 0, 1, 2)), 0)

    def text(self, field: str) -> str:
        """Draws a value of a field of traces."""
        return str(self._draw.choice(self._survey.values.get(field) or [""]))

    def _begin(self) -> None:
        self._spans_left, self._patterns_left, self._names = _MAX_SPANS, _MAX_PATTERNS, 0

    def _tree(self, depth: int) -> Condition:
        if depth == 0:
            leaves = (self._column, self._text, self._span, self._attribute)
            return self._draw.choices(leaves, (10, 4, 4, 2))[0]()
        kind = self._draw.randrange(10)
        if kind == 0:
            return {"op": "NOT", "condition": self._tree(depth - 1)}
        op = "AND" if kind < 4 else "OR"
        return {"op": op, "conditions": [self._tree(depth - 1) for _ in range(self._draw.choice((1, 2, 2, 3)))]}

    def _column(self) -> Condition:
        field, op = self._columns.next()
        return self._leaf(field, op, self._survey.values.get(field.key, []))

    def _text(self) -> Condition:
        field, op = self._texts.next()
        return self._text_leaf(field, op)

    def _text_leaf(self, field: Field, op: str) -> Condition:
        if op == "EXISTS" or self._patterns_left == 0:
            return {"op": "EXISTS", "key": field.key}
        self._patterns_left -= 1
        return self._with_case({"op": op, "key": field.key, "value": self._pattern()})

    def _span(self) -> Condition:
        if self._spans_left == 0:
            return self._column()
        self._spans_left -= 1
        condition: Condition = {
            "op": "SPAN",
            **self._name(),
            "where": self._on_span(self._draw.choice((0, 1, 1, 2)), 0),
        }
        if self._draw.randrange(4) == 0:
            condition["at_least"] = self._draw.choice((0, 1, 2, 3, 5))
        if self._draw.randrange(5) == 0:
            condition["at_most"] = max(condition.get("at_least", 0), self._draw.choice((0, 1, 2, 4)))
        return condition

    def _on_span(self, depth: int, axes: int) -> Condition:
        kind = self._draw.randrange(12)
        if kind < 3 and axes < _MAX_DEPTH_OF_AXES and self._spans_left:
            return self._axis(depth, axes)
        if depth and kind == 4:
            return {"op": "NOT", "condition": self._on_span(depth - 1, axes)}
        if depth:
            op = "AND" if kind < 7 else "OR"
            return {"op": op, "conditions": [self._on_span(depth - 1, axes) for _ in range(self._draw.choice((1, 2)))]}
        if kind == 11:
            return self._attribute()
        field, op = self._span_fields.next()
        if field.type == "text":
            return self._text_leaf(field, op)
        return self._leaf(field, op, self._survey.span_values.get(field.key, []))

    def _axis(self, depth: int, axes: int) -> Condition:
        self._spans_left -= 1
        axis = self._axes.next()
        makers: dict[str, Callable[[], Any]] = {
            "from": lambda: self._draw.choice(("end", "start")),
            "scope": lambda: self._draw.choice(("trace", "siblings")),
            "same": lambda: self._draw.choice((["tool_name"], ["name", "type"], ["tool_name", "input"], ["status"])),
            "without": lambda: self._on_span(0, _MAX_DEPTH_OF_AXES),
        }
        options = [option for option in self._survey.axes[axis] if self._draw.randrange(3) == 0]
        # A new option is not drawn until there is a value for it here.
        given = {option: makers[option]() for option in options if option in makers}
        return {"op": axis, **self._name(), **given, "where": self._on_span(max(0, depth - 1), axes + 1)}

    def _name(self) -> dict[str, str]:
        if self._draw.randrange(4):
            return {}
        self._names += 1
        return {"as": f"name {self._names}"}

    def _attribute(self) -> Condition:
        key = (self._frequent_attributes if self._draw.randrange(4) else self._attributes).next()
        value = self._draw.choice(self._survey.attributes[key])
        if isinstance(value, bool):
            return self._leaf_of(self._draw.choice(("EQ", "NEQ", "EXISTS")), key, [True, False], is_text=False)
        if isinstance(value, int | float):
            return self._leaf_of(self._draw.choice(_NUMBER_OPERATORS), key, [value, value, 1], is_text=False)
        return self._leaf_of(self._draw.choice(_STRING_OPERATORS), key, [value, value, "acme"], is_text=True)

    def _leaf(self, field: Field, op: str, values: list[Any]) -> Condition:
        match field.type:
            case "enum":
                values = ["OK", "ERROR", "error"]
            case "boolean":
                values = [True, False]
            case "number":
                values = self._mixed(values, _NUMBERS)
            case "datetime":
                values = self._mixed(values, _TIMES)
            case _:
                values = self._mixed(values, _TEXTS)
        return self._leaf_of(op, field.key, values, is_text=field.type == "string")

    def _leaf_of(self, op: str, key: str, values: list[Any], *, is_text: bool) -> Condition:
        value, several = self._draw.choice(values), self._draw.choices(values, k=3)
        if op == "EXISTS":
            return {"op": op, "key": key}
        if op == "IN":
            chosen = several[: self._draw.randrange(4)] if self._draw.randrange(12) == 0 else several
            condition: Condition = {"op": op, "key": key, "values": chosen}
        else:
            condition = {"op": op, "key": key, "value": self._piece(op, value)}
        return self._with_case(condition) if is_text else condition

    def _piece(self, op: str, value: Any) -> Any:
        """Returns a part of a text for the operators that find parts."""
        if not isinstance(value, str) or op not in {"CONTAINS", "STARTSWITH"}:
            return value
        start = self._draw.randrange(len(value) + 1) if op == "CONTAINS" else 0
        return value[start : start + self._draw.randrange(1, 9)]

    def _pattern(self) -> str:
        """Draws a pattern for texts: a known one, or a piece of a text from the store."""
        if self._draw.randrange(3) or not self._survey.texts:
            return self._draw.choice(_PATTERNS)
        text = self._draw.choice(self._survey.texts)
        start = self._draw.randrange(len(text))
        piece = text[start : start + self._draw.choice((3, 6, 10, 20, 40))]
        is_valid = any(each.isalnum() or each in "_-" or ord(each) > 127 for each in piece)
        return piece if is_valid else self._draw.choice(_PATTERNS)

    def _with_case(self, condition: Condition) -> Condition:
        if condition["op"] in _CASE_OPERATORS and self._draw.randrange(4) == 0:
            return {**condition, "ignore_case": self._draw.randrange(2) == 0}
        return condition

    def _mixed(self, values: list[Any], others: tuple[Any, ...]) -> list[Any]:
        """Returns values of the store, or one time in eight made-up values."""
        return values if values and self._draw.randrange(8) else list(others)


def operators_of(condition: Condition) -> set[tuple[str, str]]:
    """Returns the pairs of operator and key in a filter; the key of an operator without one is empty."""
    inner = [
        *condition.get("conditions", []),
        *(condition[name] for name in ("condition", "where", "without") if name in condition),
    ]
    own = {(condition["op"], condition.get("key", ""))} if "op" in condition else set()
    return own.union(chain.from_iterable(operators_of(each) for each in inner))


def _is_pattern(op: str) -> bool:
    return op == "CONTAINS"
