"""The tables of masks over Arrow batches: a row for each condition, a column for each type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench.masks import BATCH
from spanwise.bench.report.figures import OURS, ratios
from spanwise.bench.tables import geometric_mean, prose, ratio, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwise.bench.report.figures import Compared, DataSet

FAMILIES = {"texts": "texts and trees", "numbers": "numbers", "times": "times"}
_HOW = (
    "Medians in milliseconds: Spanwise / the faster of PyArrow and Polars, and how many times as fast we are; **bold** "
    "where we are slower. Filters are compiled and literals converted before the time is taken. Polars has the columns "
    "in its own layout, dictionaries as `Categorical`. A library without such an operation for the type is left out. "
    "Masks are compared in every round."
)


def masks_section(found: DataSet) -> str:
    """Returns the tables of texts, numbers and times."""
    load = found.stages["masks"].load
    about = f"One batch of {batch_rows(found):,} rows; the load was {load:.1f} before it began. {_HOW}"
    return "\n\n".join([prose(about), *_tables(found.masks)])


def batch_rows(found: DataSet) -> int:
    """Returns the number of rows of the batch."""
    return min(found.traces, BATCH)


def _tables(masks: Sequence[Compared]) -> Iterator[str]:
    for family, title in FAMILIES.items():
        rows = {(row.title, row.kind): row for row in masks if row.query == family}
        layouts = list(dict.fromkeys(layout for _, layout in rows))
        lines = [
            [name, *(_cell(rows.get((name, layout))) for layout in layouts)]
            for name in dict.fromkeys(name for name, _ in rows)
        ]
        means = [geometric_mean(ratios([row for row in rows.values() if row.kind == layout])) for layout in layouts]
        yield table([title, *layouts], [*lines, ["geometric mean", *map(ratio, means)]])


def _cell(row: Compared | None) -> str:
    if row is None or row.fastest_peer is None or row.ratio is None:
        return "-"
    times = f"{row.engines[OURS].median_ms:.2f} / {row.engines[row.fastest_peer].median_ms:.2f}"
    faster = ratio(row.ratio)
    return f"{times}, {faster}" if row.ratio >= 1 else f"{times}, **{faster}**"
