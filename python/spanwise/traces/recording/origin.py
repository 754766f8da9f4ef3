"""The root of a run's trace."""

from __future__ import annotations

from msgspec import Struct


class TraceOrigin(Struct, frozen=True):
    """The root of a run's trace. It is stored with a paused run, which resumes in the same trace.

    Attributes:
        trace_id: 32 hexadecimal digits.
        span_id: the root's span id, 16 hexadecimal digits.
        start: the root's start in nanoseconds since 1970; 0 before the start.
        name: the root's name; empty if unknown.
        parent: the span id of the caller's span that contains the root, 16 hexadecimal digits; empty without one.
    """

    trace_id: str
    span_id: str
    start: int
    name: str = ""
    parent: str = ""
