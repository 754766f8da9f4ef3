"""Masks over a batch of Arrow data: the conditions, the types of columns, and the libraries that evaluate them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from spanwise.bench.peers import Expression

PEERS = ("pyarrow", "polars")
BATCH = 1_000_000
"""The rows of the batch, unless the data set has fewer."""


class Condition(NamedTuple):
    """A filter and its name in the report."""

    title: str
    filter: Expression


class Layout(NamedTuple):
    """Columns of one type.

    Attributes:
        name: the type, as Arrow names it.
        family: what the conditions are about: `texts`, `numbers` or `times`.
        batch: the columns.
    """

    name: str
    family: str
    batch: pa.RecordBatch


class Library(Protocol):
    """A library that evaluates conditions over one batch."""

    def answers(self, condition: Condition) -> bool:
        """Returns whether the library has such operations for the types of the columns."""

    def prepare(self, condition: Condition) -> Callable[[], Any]:
        """Returns a function that returns a mask in the form of the library. Only the call is timed."""
