"""Which part of which value of a span is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ValueRange:
    """A part of the text of a value.

    Attributes:
        path: where the value is in the JSON of its span: a JSON Pointer (RFC 6901).
        start: where the part begins, in bytes of UTF-8.
        max_bytes: its greatest size; None for all that follows.
    """

    path: str
    start: int = 0
    max_bytes: int | None = None
