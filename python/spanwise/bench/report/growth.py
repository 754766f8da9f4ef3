"""The growth plot as SVG: query time by size of the store, on logarithmic axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from spanwise.bench.report.figures import OURS
from spanwise.bench.tables import geometric_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwise.bench.report.figures import DataSet

_WIDTH, _HEIGHT = 380, 270
_LEFT, _TOP, _RIGHT, _BOTTOM = 58, 34, 14, 40
_KINDS = {
    "selective": "few traces match",
    "wide": "many traces match",
    "scan": "CONTAINS on ids",
    "sessions": "of all, of errors, of the mix",
}
_OURS, _PEER, _GRID, _INK = "#0b6e99", "#b3541e", "#dddddd", "#222222"


class _Axes(NamedTuple):
    """The ranges of the axes, as powers of ten."""

    traces: tuple[int, int]
    times: tuple[int, int]


class _Line(NamedTuple):
    """One query, or the mean of the peers, with points of traces and milliseconds."""

    title: str
    color: str
    points: list[tuple[int, float]]


def growth_plot(data_sets: Sequence[DataSet]) -> str:
    """Returns the plot: a panel per kind of query, a line per query, and a dashed line for the fastest peers."""
    panels = {kind: _lines(data_sets, kind) for kind in _KINDS}
    every = [point for lines in panels.values() for line in lines for point in line.points]
    if every:
        axes = _Axes(_decades([traces for traces, _ in every]), _decades([time for _, time in every]))
    else:
        axes = _Axes((0, 1), (0, 1))
    drawn = [
        _panel(number, f"{kind}: {words}", panels[kind], axes) for number, (kind, words) in enumerate(_KINDS.items())
    ]
    width, height = 2 * _WIDTH, 2 * _HEIGHT + 24
    legend = (
        f'<text x="{_LEFT}" y="{height - 8}" fill="{_OURS}">each line a query of Spanwise, median</text>'
        f'<text x="{_WIDTH + _LEFT}" y="{height - 8}" fill="{_PEER}">dashed: geometric mean of the fastest peers</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="11">\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "\n".join(drawn) + f"\n{legend}\n</svg>\n"
    )


def _lines(data_sets: Sequence[DataSet], kind: str) -> list[_Line]:
    ours: dict[str, list[tuple[int, float]]] = {}
    peers: list[tuple[int, float]] = []
    for found in data_sets:
        rows = [row for row in found.queries if row.kind == kind]
        for row in rows:
            # The number of the deep page depends on the size.
            title = row.title.rpartition(", page ")[0] + ", deep page" if row.page > 1 else row.title
            ours.setdefault(title, []).append((found.traces, row.engines[OURS].median_ms))
        fastest = [row.engines[row.fastest_peer].median_ms for row in rows if row.fastest_peer]
        if fastest:
            peers.append((found.traces, geometric_mean(fastest)))
    lines = [_Line(title, _OURS, points) for title, points in ours.items()]
    return [*lines, _Line("fastest peers", _PEER, peers)] if peers else lines


def _decades(values: Sequence[float]) -> tuple[int, int]:
    lowest, highest = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return lowest, max(highest, lowest + 1)


def _panel(number: int, title: str, lines: list[_Line], axes: _Axes) -> str:
    x, y = number % 2 * _WIDTH, number // 2 * _HEIGHT
    parts = [f'<g transform="translate({x} {y})">', f'<text x="{_LEFT}" y="20" fill="{_INK}">{title}</text>']
    parts += [*_grid(axes), *(_drawn(line, axes) for line in lines), "</g>"]
    return "\n".join(parts)


def _grid(axes: _Axes) -> Iterator[str]:
    for power in range(axes.times[0], axes.times[1] + 1):
        y = _y(10.0**power, axes)
        yield f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="{_GRID}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="{_INK}">{10.0**power:g} ms</text>'
    for power in range(axes.traces[0], axes.traces[1] + 1):
        x = _x(10**power, axes)
        yield f'<path d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="{_GRID}"/>'
        yield (
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle" '
            f'fill="{_INK}">{_count(10**power)}</text>'
        )


def _drawn(line: _Line, axes: _Axes) -> str:
    points = [(_x(traces, axes), _y(time, axes)) for traces, time in sorted(line.points)]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dashes = ' stroke-dasharray="5 3"' if line.color == _PEER else ""
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{line.color}"/>' for x, y in points)
    return f'<g><title>{line.title}</title><path d="M{path}" fill="none" stroke="{line.color}"{dashes}/>{dots}</g>'


def _x(traces: float, axes: _Axes) -> float:
    low, high = axes.traces
    return _LEFT + (math.log10(traces) - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)


def _y(time: float, axes: _Axes) -> float:
    low, high = axes.times
    return _HEIGHT - _BOTTOM - (math.log10(time) - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)


def _count(traces: int) -> str:
    for unit, word in ((1_000_000, "M"), (1_000, "k")):
        if traces >= unit:
            return f"{traces // unit}{word}"
    return str(traces)
