"""Polars: the filtered rows are grouped by every field in one plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import polars as pl

from spanwise.bench.facets import FIELDS, LIMIT, Counts
from spanwise.bench.peers.polars import condition_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from spanwise.bench.facets import Facets, Question


class Polars:
    """One data frame."""

    def __init__(self, rows: pa.Table) -> None:
        """Converts `rows` to the layout of Polars."""
        self._frame = cast("pl.DataFrame", pl.from_arrow(rows))

    def prepare(self, question: Question) -> Callable[[], Facets]:
        """Returns a function that answers `question`."""
        chosen = self._frame.lazy().filter(condition_of(question.whole_condition))
        grouped = [chosen.select(field).group_by(field).len() for field in FIELDS]

        def count() -> Facets:
            found = zip(FIELDS, pl.collect_all(grouped), strict=True)
            return {field: _counts(counts, field) for field, counts in found}

        return count

    def close(self) -> None:
        """Drops the frame."""
        self._frame = pl.DataFrame()


def _counts(counts: pl.DataFrame, field: str) -> Counts:
    present = counts.filter(pl.col(field).is_not_null())
    missing = cast("int", counts.filter(pl.col(field).is_null()).get_column("len").sum())
    top = present.sort("len", field, descending=[True, False]).head(LIMIT)
    return Counts(top.rows(), present.height, missing)


def open_engine(rows: pa.Table) -> Polars:
    """Returns Polars with `rows`."""
    return Polars(rows)
