"""Generated questions: every operator on every field, and trees of them, beside scan engines and ordered ones.

Nobody tuned an engine for one of them. A question is drawn anew in every round, with literals of its own.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple

from spanwise.bench.peers import NEWEST_FIRST
from spanwise.bench.peers import open_peer as open_scan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    import numpy as np
    import pyarrow as pa

    from spanwise.bench.peers import Engine, Expression, Sort

SCANS = ("duckdb", "polars", "datafusion")
"""Engines that scan rows in memory."""
ORDERED = ("chdb", "duckdb_file", "polars_sorted", "postgresql")
"""Engines that keep an order or indexes: a module of `ordered` each."""
NAMES = {
    "duckdb": "DuckDB",
    "polars": "Polars",
    "datafusion": "DataFusion",
    "chdb": "chDB",
    "duckdb_file": "DuckDB file",
    "polars_sorted": "Polars, sorted",
    "postgresql": "PostgreSQL",
}
Depth = Literal["first", "second", "middle", "last"]
DEPTHS: tuple[Depth, ...] = ("first", "second", "middle", "last")


class Question(NamedTuple):
    """A question without literals.

    Attributes:
        title: its name in the report: the operators and fields of its conditions, and what else is asked.
        draw: returns the filter with new literals, which match about as much as those before.
        conditions: how many conditions on one field there are.
        group_by: whether it asks for runs or sessions.
        sort: the order of runs.
        depth: which of all pages is asked for.
        user: returns another user to whose traces it is restricted; `None` if it is not.
    """

    title: str
    draw: Callable[[np.random.Generator], Expression]
    conditions: int
    group_by: Literal["run", "session"] = "run"
    sort: Sort = NEWEST_FIRST
    depth: Depth = "first"
    user: Callable[[np.random.Generator], str | int] | None = None


def page_of(depth: Depth, items: int, limit: int) -> int:
    """Returns the number of a page of so many items; 1 if there is no such page."""
    pages = max(1, -(-items // limit))
    return {"first": 1, "second": min(2, pages), "middle": (pages + 1) // 2, "last": pages}[depth]


def absent(name: str) -> str | None:
    """Returns why an engine cannot be had here; None if it can."""
    if name in SCANS:
        return None
    reason: str | None = _module(name).absent()
    return reason


def open_peer(name: str, rows: pa.Table, folder: Path) -> Engine:
    """Opens an engine with `rows`, newest first; one that keeps files has them in `folder` until it is closed."""
    if name in SCANS:
        return open_scan(name, rows)
    peer: Engine = _module(name).open_engine(rows, folder)
    return peer


def _module(name: str) -> ModuleType:
    return import_module(f"{__name__}.ordered.{name}")
