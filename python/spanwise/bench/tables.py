"""Statistics of measured times, and text formatting for the report."""

from __future__ import annotations

import math
from statistics import median
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["geometric_mean", "median", "megabytes", "milliseconds", "percentile", "prose", "ratio", "table"]

_TINY, _FINE, _WHOLE, _PLAIN = 0.01, 1, 10, 100


def percentile(times: Sequence[float], part: float) -> float:
    """Returns a percentile of `times` by the nearest-rank method, so one of them; `part` is between 0 and 1."""
    return sorted(times)[max(0, math.ceil(part * len(times)) - 1)]


def geometric_mean(values: Sequence[float]) -> float:
    """Returns the geometric mean of values above zero."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def milliseconds(value: float) -> str:
    """Returns a time with three significant digits and its unit."""
    if value < _FINE:
        return f"{value:.3f} ms"
    return f"{value:.2f} ms" if value < _PLAIN else f"{value:,.0f} ms"


def ratio(value: float) -> str:
    """Returns a speed-up factor, such as `12x`."""
    if value < _TINY:
        return f"{value:.1g}x"
    if value < _FINE:
        return f"{value:.2f}x"
    return f"{value:,.0f}x" if value >= _WHOLE else f"{value:.1f}x"


def megabytes(value: float) -> str:
    """Returns a number of bytes in MB."""
    return f"{value / 1e6:,.0f} MB"


def prose(text: str) -> str:
    """Returns a paragraph wrapped at 120 columns."""
    return fill(text, 120, break_long_words=False, break_on_hyphens=False)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, of_words: bool = False) -> str:
    """Returns a Markdown table; all columns but the first are right-aligned, unless `of_words`."""
    marks = ["---", *["---" if of_words else "---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *rows))
