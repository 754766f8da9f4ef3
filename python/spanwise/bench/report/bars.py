"""The bar chart of the README as SVG: the time of each chosen query beside that of the fastest peer."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from spanwise.bench.report.figures import OURS, chosen, largest_compared
from spanwise.bench.tables import milliseconds, ratio

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwise.bench.report.figures import Compared, DataSet

_WIDTH, _ROW, _TOP, _BAR, _LEFT, _RIGHT = 760, 46, 44, 14, 150, 190
_OURS, _PEER, _INK, _PAPER = "#0b6e99", "#c9a48d", "#222222", "#ffffff"
PEERS = {"duckdb": "DuckDB", "polars": "Polars", "datafusion": "DataFusion"}


def bar_chart(data_sets: Sequence[DataSet]) -> str:
    """Returns the chart for the largest data set that was measured with peers.

    The bars of a query are linear and begin at zero; the longer one has the whole width, and both have their times.
    """
    found = largest_compared(data_sets)
    rows = chosen(found)
    height = _TOP + _ROW * len(rows) + 8
    engine = found.stages.get("engine") or next(reversed(found.stages.values()))
    title = f"A page of 20 with the exact total, of {found.traces:,} traces: median, {engine.cores} cores"
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="{_PAPER}"/>',
        f'<text x="14" y="24" fill="{_INK}" font-size="14">{escape(title)}</text>',
        *(part for number, row in enumerate(rows) for part in _bars(row, _TOP + number * _ROW)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _bars(row: Compared, y: int) -> Iterator[str]:
    peer = row.fastest_peer or OURS
    times = {name: row.engines[name].median_ms for name in (OURS, peer)}
    longest = max(times.values())
    yield f'<text x="{_LEFT - 10}" y="{y + 19}" text-anchor="end" fill="{_INK}">{escape(row.title)}</text>'
    for place, (name, color) in enumerate(((OURS, _OURS), (peer, _PEER))):
        top = y + place * (_BAR + 3)
        width = max(1.0, times[name] / longest * (_WIDTH - _LEFT - _RIGHT))
        label = f"{PEERS.get(name, 'Spanwise')} {milliseconds(times[name])}"
        if name == OURS and row.ratio:
            label += f", {ratio(row.ratio)} faster"
        yield f'<rect x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_BAR}" fill="{color}"/>'
        yield f'<text x="{_LEFT + width + 6:.1f}" y="{top + 11}" fill="{_INK}">{label}</text>'
