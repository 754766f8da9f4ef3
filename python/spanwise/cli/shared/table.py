"""Lines and tables of untrusted values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.text import Text

MAX_CELL_WIDTH = 40
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160)), "?")


def table(columns: Mapping[str, str], items: Sequence[Mapping[str, Any]]) -> str:
    """Returns a header line and a line for each item. Cells are cut to `MAX_CELL_WIDTH`.

    Args:
        columns: the item member of each column, by column title; missing members are shown as `-`.
        items: the items.
    """
    rows = [list(columns), *([_cell(item.get(member)) for member in columns.values()] for item in items)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def printable(text: str) -> str:
    """Returns `text` without control characters, which could manipulate the terminal."""
    return text.translate(_CONTROLS)


def line_console() -> Console:
    """Returns a console on standard output, with colours on a terminal. Text is printed unchanged."""
    return Console(highlight=False, markup=False, emoji=False)


def print_line(console: Console, line: Text) -> None:
    """Prints one line. A terminal cuts it at its width."""
    if console.is_terminal:
        console.print(line, no_wrap=True, overflow="ellipsis")
    else:
        console.print(line, soft_wrap=True)


def _cell(value: object) -> str:
    text = "-" if value is None else printable(str(value))
    return text if len(text) <= MAX_CELL_WIDTH else f"{text[: MAX_CELL_WIDTH - 3]}..."
