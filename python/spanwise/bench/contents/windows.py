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
_LONGEST_SESSION = timedelta(hours=12)


class Window(NamedTuple):
    """A part of the time that a data set covers.

    Attributes:
        chunks: the chunks that have all traces of the window, and others before it.
        begin: its first moment, in ISO 8601 without an offset, UTC.
        end: the first moment after it, likewise.
    """

    chunks: range
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
    return [_window(shape, range(first, first + width)) for first in firsts]


def _window(shape: Shape, own: range) -> Window:
    every = timedelta(days=DAYS)
    begin, end = (
        LATEST.replace(tzinfo=None) - every * (1 - chunk * rows.CHUNK / shape.traces) for chunk in (own.start, own.stop)
    )
    before = -(-shape.traces * (_LONGEST_SESSION / every) // rows.CHUNK)
    return Window(range(max(0, own.start - int(before)), own.stop), begin.isoformat(), end.isoformat())
