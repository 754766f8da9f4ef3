"""The query templates in `queries.json`, and queries with literals filled in."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from spanwise.bench.peers import NEWEST_FIRST, Query, Sort

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.bench.data.literals import Literals
    from spanwise.bench.data.shape import Shape
    from spanwise.bench.peers import Expression

LIMIT = 20
_ATTEMPTS = 50


class LiteralSource(Protocol):
    """Draws literals by name."""

    def draw(self, name: str) -> object:
        """Returns a new literal."""


class QueryTemplate(msgspec.Struct, frozen=True):
    """A query without its literals.

    Attributes:
        name: its name in the tables of the report.
        kind: its panel in the growth plot.
        filter: the filter expression, with placeholders.
        group_by: whether it returns runs or sessions.
        share: the minimum fraction of all traces that match; 0 if unknown.
        page: the page number.
        sort: the order of runs.
    """

    name: str
    kind: Literal["selective", "wide", "scan", "sessions"]
    filter: Any
    group_by: Literal["run", "session"] = "run"
    share: float = 0
    page: int = 1
    sort: Sort = NEWEST_FIRST

    @property
    def title(self) -> str:
        """Returns the name, followed by the page number if it is not the first page."""
        return self.name if self.page == 1 else f"{self.name}, page {self.page:,}"


class _QueryFile(msgspec.Struct):
    about: str
    queries: list[QueryTemplate]


def query_templates(shape: Shape) -> list[QueryTemplate]:
    """Returns all templates for a data set: runs, then runs at a deep page, then sessions."""
    source = files(__package__).joinpath("queries.json").read_bytes()
    found = msgspec.json.decode(source, type=_QueryFile).queries
    reaching = [template for template in found if template.share * shape.traces >= shape.deep_page * LIMIT]
    deep = [msgspec.structs.replace(template, page=shape.deep_page) for template in reaching]
    runs = [template for template in found if template.group_by == "run"]
    return [*runs, *deep, *(template for template in found if template.group_by == "session")]


def bind_literals(template: QueryTemplate, literals: Literals) -> Iterator[Query]:
    """Yields an endless series of queries with fresh literals, without repetitions as long as possible."""
    seen: set[bytes] = set()
    while True:
        for _ in range(_ATTEMPTS):
            expression = fill(template.filter, literals)
            key = msgspec.json.encode(expression)
            if key not in seen:
                break
        seen.add(key)
        yield Query(expression, template.group_by, template.page, LIMIT, template.sort)


def fill(template: Expression, literals: LiteralSource) -> Expression:
    """Returns an expression with all placeholders filled.

    Members of one placeholder, such as `$hour.begin` and `$hour.end`, come from the same literal.
    """
    filled: Expression = _fill(template, literals, {})
    return filled


def _fill(template: Any, literals: LiteralSource, drawn: dict[str, Any]) -> Any:  # noqa: ANN401  # any part of JSON
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
