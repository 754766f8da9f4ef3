"""A requested part of a span's value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ValueRange:
    """A part of the text of a value.

    Attributes:
        path: the location of the value in the JSON of its span: a JSON Pointer (RFC 6901).
        start: the offset of the part, in bytes of UTF-8.
        max_bytes: its maximum size; None for the whole remainder.
    """

    path: str
    start: int = 0
    max_bytes: int | None = None
