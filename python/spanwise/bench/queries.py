"""The questions, read from `queries.json`, and their literals filled in."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from spanwise.bench.peers import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.bench.literals import Literals
    from spanwise.bench.peers import Expression
    from spanwise.bench.shape import Shape

LIMIT = 20
_ATTEMPTS = 50


class Query(msgspec.Struct, frozen=True):
    """One question without its literals.

    Attributes:
        name: what the tables call it.
        kind: what the growth plot calls it.
        filter: the expression, with placeholders.
        group_by: whether runs or sessions are asked for.
        share: the least share of all traces that can match; 0 is unknown.
        page: which page is asked for.
    """

    name: str
    kind: Literal["selective", "wide", "scan", "sessions"]
    filter: Any
    group_by: Literal["run", "session"] = "run"
    share: float = 0
    page: int = 1

    @property
    def title(self) -> str:
        """Returns the name with the page, if that is not the first."""
        return self.name if self.page == 1 else f"{self.name}, page {self.page:,}"


class _File(msgspec.Struct):
    about: str
    queries: list[Query]


def queries(shape: Shape) -> list[Query]:
    """Returns every query for a data set; the deep pages stand before the sessions."""
    source = files(__package__).joinpath("queries.json").read_bytes()
    found = msgspec.json.decode(source, type=_File).queries
    reaching = [query for query in found if query.share * shape.traces >= shape.deep_page * LIMIT]
    deep = [msgspec.structs.replace(query, page=shape.deep_page) for query in reaching]
    runs = [query for query in found if query.group_by == "run"]
    return [*runs, *deep, *(query for query in found if query.group_by == "session")]


def questions(query: Query, literals: Literals) -> Iterator[Question]:
    """Yields the query with fresh literals, for ever; the same are not drawn twice while others can be had."""
    seen: set[bytes] = set()
    while True:
        for _ in range(_ATTEMPTS):
            expression = fill(query.filter, literals)
            key = msgspec.json.encode(expression)
            if key not in seen:
                break
        seen.add(key)
        yield Question(expression, query.group_by, query.page, LIMIT)


def fill(template: Expression, literals: Literals) -> Expression:
    """Returns an expression with every placeholder filled; `$hour.begin` and `$hour.end` are of the same hour."""
    filled: Expression = _fill(template, literals, {})
    return filled


def _fill(template: Any, literals: Literals, drawn: dict[str, Any]) -> Any:  # noqa: ANN401  # any part of JSON
    match template:
        case {"$repeat": int(times), "$of": part}:
            return [_fill(part, literals, {}) for _ in range(times)]
        case dict():
            return {key: _fill(part, literals, drawn) for key, part in template.items()}
        case list():
            return [_fill(part, literals, drawn) for part in template]
        case str() if template.startswith("$"):
            name, _, member = template[1:].partition(".")
            if name not in drawn:
                drawn[name] = literals.draw(name)
            return drawn[name][member] if member else drawn[name]
        case _:
            return template
