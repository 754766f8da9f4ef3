"""Facets as questions to every engine: frequent values of some fields, how many there are, and rows without one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spanwise.bench.peers import USER, of_user

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from spanwise.bench.peers import Expression

FIELDS = ("status", "name", "agent_id", "user_id", "session_id", "run_id")
"""The fields with facets that the peers hold."""
LIMIT = 20
PEERS = ("duckdb", "polars")


class Question(NamedTuple):
    """Which traces are counted: those that match, of one user or of all."""

    title: str
    condition: Expression
    user: str | None = None

    @property
    def whole_condition(self) -> Expression:
        """Returns the condition with that on the user, for engines that have no restriction."""
        return of_user(self.condition, self.user)


class Counts(NamedTuple):
    """One facet: values with counts, the number of values, and of rows without one."""

    values: list[tuple[str, int]]
    distinct: int
    missing: int


Facets = dict[str, Counts]

QUESTIONS = (
    Question("everything", {}),
    Question("agent_id EQ", {"op": "EQ", "key": "agent_id", "value": "invoice-scout"}),
    Question("name CONTAINS, a tenth", {"op": "CONTAINS", "key": "name", "value": "Release"}),
    Question("everything of one user", {}, USER),
)


class Engine(Protocol):
    """An engine with all rows loaded."""

    def prepare(self, question: Question) -> Callable[[], Facets]:
        """Returns a function that answers `question`. Only the call is timed."""

    def close(self) -> None:
        """Releases the rows."""


def open_peer(name: str, rows: pa.Table) -> Engine:
    """Opens the engine `name`, one of `PEERS`, with `rows`."""
    peer: Engine = import_module(f"{__name__}.{name}").open_engine(rows)
    return peer
