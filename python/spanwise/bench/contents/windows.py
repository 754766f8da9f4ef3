"""Windows of time, in which DuckDB compares answers about more traces than it can hold."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spanwise.bench.data import rows
from spanwise.bench.data.shape import DAYS, LATEST

if TYPE_CHECKING:
    from spanwise.bench.contents import Question
    from spanwise.bench.data.shape import Shape

WINDOWS = 4
TRACES = 250_000
"""The traces of a window, roughly: sessions that began before it reach into it."""


class Window(NamedTuple):
    """A part of the time that a data set covers.

    Attributes:
        chunks: the chunks that have any trace of the window.
        begin: its first moment, in ISO 8601 without an offset, UTC.
        end: the first moment after it, likewise.
    """

    chunks: tuple[int, ...]
    begin: str
    end: str

    def narrowed(self, question: Question) -> Question:
        """Returns the question, asked of the traces that started in the window."""
        bounds = [
            {"op": operator, "key": "start_time", "value": moment}
            for operator, moment in (("GTE", self.begin), ("LT", self.end))
        ]
        return msgspec.structs.replace(question, filter={"op": "AND", "conditions": [question.filter, *bounds]})


def windows(shape: Shape) -> list[Window]:
    """Returns windows that are spread evenly over a data set."""
    every = rows.chunks(shape)
    width = min(every, max(1, TRACES // rows.CHUNK))
    firsts = dict.fromkeys((every - width) * number // (WINDOWS - 1) for number in range(WINDOWS))
    # A session may be days long, and is in the chunk in whose time it began.
    starts = [rows.draw(shape, chunk).starts for chunk in range(every)]
    reached = [(int(own.min()), int(own.max())) for own in starts]
    return [_window(shape, reached, range(first, first + width)) for first in firsts]


def _window(shape: Shape, reached: list[tuple[int, int]], own: range) -> Window:
    """Returns the window of some chunks, of which it is known when their first and last traces start."""
    begin, end = (
        LATEST - timedelta(days=DAYS) * (1 - chunk * rows.CHUNK / shape.traces) for chunk in (own.start, own.stop)
    )
    first, after = (int(moment.timestamp() * 1_000_000) for moment in (begin, end))
    chunks = (chunk for chunk, (earliest, latest) in enumerate(reached) if earliest < after and latest >= first)
    return Window(tuple(chunks), *(moment.replace(tzinfo=None).isoformat() for moment in (begin, end)))
