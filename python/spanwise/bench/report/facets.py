"""The table of facets in the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench.report.figures import OURS
from spanwise.bench.tables import milliseconds, ratio, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.bench.report.figures import Compared

_PEERS = {"duckdb": "DuckDB", "polars": "Polars"}


def facets_table(rows: Sequence[Compared]) -> str:
    """Returns a row for each question, with the peers that answered it."""
    peers = [name for name in _PEERS if name in rows[0].engines]
    head = ["six facets of", "traces", "Spanwise p50", "p99", "runs", *(f"{_PEERS[name]} p50" for name in peers)]
    head += ["faster than the fastest"] * bool(peers)
    lines = []
    for row in rows:
        ours = row.engines[OURS]
        cells = [row.title, f"{row.found:,}", milliseconds(ours.median_ms), milliseconds(ours.p99_ms), str(ours.runs)]
        cells += [milliseconds(row.engines[name].median_ms) for name in peers]
        lines.append([*cells, ratio(row.ratio)] if row.ratio else cells)
    return table(head, lines)
