"""A table for people, of values that anybody may have sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDEST = 40
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "?")


def table(columns: Mapping[str, str], items: Sequence[Mapping[str, Any]]) -> str:
    """Returns a line of titles and a line for each item; no cell is longer than `WIDEST`.

    Args:
        columns: by title, the member that a column shows; one that is missing shows as `-`.
        items: what the lines are about.
    """
    rows = [list(columns), *([_cell(item.get(member)) for member in columns.values()] for item in items)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def printable(text: str) -> str:
    """Returns `text` without control characters: what was sent must not steer a terminal."""
    return text.translate(_CONTROLS)


def _cell(value: object) -> str:
    text = "-" if value is None else printable(str(value))
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."
