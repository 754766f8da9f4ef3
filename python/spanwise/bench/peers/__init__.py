"""Who answers the same questions over the same rows? Spanwise, DuckDB, Polars, DataFusion: one file each."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

Expression = dict[str, object]
"""A filter expression, as a search takes it; empty is every trace."""

PEERS = ("duckdb", "polars", "datafusion")
"""The names of the engines that Spanwise is measured beside, as their packages are called."""


class Question(NamedTuple):
    """One page that is asked for."""

    filter: Expression
    group_by: Literal["run", "session"] = "run"
    page: int = 1
    limit: int = 20

    @property
    def offset(self) -> int:
        """Returns how many items stand before the page."""
        return (self.page - 1) * self.limit


class Answer(NamedTuple):
    """What every engine gives: the ids of the page, in order, and how many items there are on all pages."""

    ids: list[str]
    total: int


class Engine(Protocol):
    """One engine that holds all rows."""

    def prepare(self, question: Question) -> Callable[[], Answer]:
        """Returns what answers `question`: only calling it is timed."""

    def close(self) -> None:
        """Gives up what it holds."""


def open_peer(name: str, rows: pa.Table) -> Engine:
    """Returns the peer of that name over `rows`, a table of `rows.SCHEMA`, newest first."""
    peer: Engine = import_module(f"{__name__}.{name}").open_engine(rows)
    return peer
