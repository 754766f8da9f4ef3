"""The engines that execute the same queries over the same rows: a module for each engine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

Expression = dict[str, object]
"""A filter expression, as in a search; an empty one matches all traces."""

USER = "alice.almeida@example.com"
"""The user that questions about the traces of one user name."""


def of_user(condition: Expression, user: str | None) -> Expression:
    """Returns a condition with that on the user, if any, for engines that have no restriction to an owner."""
    if user is None:
        return condition
    own: Expression = {"op": "EQ", "key": "user_id", "value": user}
    return {"op": "AND", "conditions": [own, condition]} if condition else own


PEERS = ("duckdb", "polars", "datafusion")
"""The engines that Spanwise is compared with, by the names of their packages."""


class Sort(NamedTuple):
    """The order of runs: by a number or the start time; runs of equal value are newest first, then by trace id."""

    key: str = "start_time"
    ascending: bool = False


NEWEST_FIRST = Sort()


class Query(NamedTuple):
    """A search for one page; `user` restricts it to the traces of one user, and sessions are always newest first."""

    filter: Expression
    group_by: Literal["run", "session"] = "run"
    page: int = 1
    limit: int = 20
    sort: Sort = NEWEST_FIRST
    user: str | None = None

    @property
    def offset(self) -> int:
        """Returns the number of items before the page."""
        return (self.page - 1) * self.limit

    @property
    def whole_filter(self) -> Expression:
        """Returns the filter with that on the user, for engines that have no restriction to an owner."""
        return of_user(self.filter, self.user)


class QueryResult(NamedTuple):
    """The result of a query: the ids on the page, in order, and the total number of items on all pages."""

    ids: list[str]
    total: int


class Engine(Protocol):
    """An engine with all rows loaded."""

    def prepare(self, query: Query) -> Callable[[], QueryResult]:
        """Returns a function that executes `query`. Only the call is timed."""

    def close(self) -> None:
        """Releases the rows."""


def open_peer(name: str, rows: pa.Table) -> Engine:
    """Opens the engine `name` with `rows`, a table of `rows.SCHEMA`, newest first."""
    peer: Engine = import_module(f"{__name__}.{name}").open_engine(rows)
    return peer
