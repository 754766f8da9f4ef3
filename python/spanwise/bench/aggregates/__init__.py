"""Aggregations on several engines: what is asked, what an answer is, and how two of them are compared.

A question is asked of the traces that a filter selects, in buckets of twelve hours: how many there are, how many
failed, and the exact 95th percentile of their durations. It may be asked for the ten agents with most traces, and
for all other ones together.
"""

from __future__ import annotations

import math
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spanwise.bench.data.shape import DAYS, LATEST
from spanwise.bench.errors import WrongResultError
from spanwise.bench.peers import USER, of_user

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from spanwise.bench.peers import Expression

QUANTILE = 0.95
AGENTS = 10
OTHERS = AGENTS
"""The number of the group of all other agents."""
START = LATEST - timedelta(days=DAYS)
END = LATEST + timedelta(days=1)
"""No trace starts later: the sessions of the last day end before this."""
INTERVAL = timedelta(hours=12)
"""The length of a bucket."""

PEERS = ("duckdb", "polars", "chdb")
"""The engines that compute exact quantiles, by the names of their packages. chDB takes part if it is installed."""


class Question(NamedTuple):
    """What is asked.

    Attributes:
        title: its name in the report.
        filter: which traces; an empty one matches all.
        by_agent: whether it is asked for the agents with most traces.
        user: whose traces are counted; None for those of all.
    """

    title: str
    filter: Expression
    by_agent: bool
    user: str | None = None

    @property
    def whole_filter(self) -> Expression:
        """Returns the filter with the condition on the user, for engines that have no restriction."""
        return of_user(self.filter, self.user)


class Cell(NamedTuple):
    """The traces of one group in one bucket: their number, that of failed ones, and the percentile."""

    traces: int
    errors: int
    percentile: float


Answer = dict[tuple[int, int], Cell]
"""The cells that have traces, by the number of the group and of the bucket. Groups are in order of their traces."""


class Engine(Protocol):
    """An engine with all rows loaded."""

    def prepare(self, question: Question) -> Callable[[], Answer]:
        """Returns a function that answers. Only the call is timed."""

    def close(self) -> None:
        """Releases the rows."""


def questions() -> list[Question]:
    """Returns the questions: of everything, one agent, the tenth whose names have a part in common, and one user."""
    filters: dict[str, Expression] = {
        "everything": {},
        "agent_id EQ": {"op": "EQ", "key": "agent_id", "value": "invoice-scout"},
        "name CONTAINS": {"op": "CONTAINS", "key": "name", "value": "Invoice"},
    }
    asked: list[Question] = []
    for by_agent in (False, True):
        groups = "ten agents" if by_agent else "all together"
        asked += [Question(f"{title}, {groups}", expression, by_agent) for title, expression in filters.items()]
        asked.append(Question(f"everything of one user, {groups}", {}, by_agent, USER))
    return asked


def installed_peers(chosen: tuple[str, ...]) -> list[str]:
    """Returns the engines to compare with: those chosen, and chDB if it is installed."""
    return [name for name in PEERS if name in chosen or (name == "chdb" and find_spec(name))]


def open_peer(name: str, rows: pa.Table) -> Engine:
    """Opens the engine `name` with `rows`, a table of `rows.SCHEMA`."""
    peer: Engine = import_module(f"{__name__}.{name}").open_engine(rows)
    return peer


def compare(question: Question, expected: Answer, name: str, found: Answer) -> None:
    """Compares the answer of engine `name` with that of DuckDB.

    Raises:
        WrongResultError: they differ.
    """
    if found.keys() != expected.keys():
        raise WrongResultError(f"{name} has {len(found)} cells, DuckDB {len(expected)}, for {question.title}")
    for place, cell in found.items():
        wanted = expected[place]
        if cell[:2] != wanted[:2] or not math.isclose(cell.percentile, wanted.percentile, rel_tol=1e-9):
            raise WrongResultError(f"{name} has {cell} in {place}, DuckDB {wanted}, for {question.title}")
