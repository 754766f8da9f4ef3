"""Bounds what the frames of one connection may cost, before they are parsed.

Parsing a frame takes as long whether it carries 16 KiB of a request or nothing, so a flood of empty ones would keep
the event loop busy: resets, pings, settings, window updates, data byte by byte. Only the nine bytes at the beginning of
each frame are read here.

Source: RFC 9113, sections 4.1 and 10.5.
"""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PREFACE_BYTES = 24
MAX_HEADER_BYTES = 32 * 1024
"""Bytes of the headers of one request, compressed and not."""
SMALL_DATA_BYTES = 1024
"""A shorter frame of a body that does not end counts as empty."""
BURST = 1000
PER_SECOND = 100
PER_REQUEST = 8
"""Frames that carry next to nothing: how many at once, how many a second, and how many more for each request that was
served."""

_HEAD = struct.Struct(">HBBB4x")
_DATA, _HEADERS, _CONTINUATION = 0, 1, 9
_END_STREAM = 1


class FloodError(Exception):
    """A client sends more empty frames, or larger headers, than any exporter does."""


class FrameMeter:
    """Counts the frames of one connection as their bytes arrive."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Starts before the preface of the connection.

        Args:
            clock: monotonic time in seconds.
        """
        self._clock = clock
        self._counted_at = clock()
        self._allowed = float(BURST)
        self._skip = PREFACE_BYTES
        self._partial = b""
        self._header_bytes = 0

    def add_request(self) -> None:
        """Allows the frames that belong to one more request that was served."""
        self._allowed = min(BURST, self._allowed + PER_REQUEST)

    def count(self, data: bytes) -> None:
        """Counts the frames that begin in `data`.

        Raises:
            FloodError: there are too many empty frames, or too many bytes of headers.
        """
        data = self._partial + data if self._partial else data
        position, empty = self._skip, 0
        while position + _HEAD.size <= len(data):
            high, low, kind, flags = _HEAD.unpack_from(data, position)
            length = high << 8 | low
            empty += self._is_empty(kind, flags, length)
            position += _HEAD.size + length
        self._skip = max(0, position - len(data))
        self._partial = data[position:]
        self._spend(empty)

    def _is_empty(self, kind: int, flags: int, length: int) -> bool:
        if kind in {_HEADERS, _CONTINUATION}:
            self._header_bytes = length + (self._header_bytes if kind == _CONTINUATION else 0)
            if self._header_bytes > MAX_HEADER_BYTES:
                raise FloodError(f"the headers of a request are larger than {MAX_HEADER_BYTES} bytes")
        is_useful = kind == _HEADERS or (kind == _DATA and (length >= SMALL_DATA_BYTES or bool(flags & _END_STREAM)))
        return not is_useful

    def _spend(self, empty: int) -> None:
        if not empty:
            return
        now = self._clock()
        self._allowed = min(BURST, self._allowed + (now - self._counted_at) * PER_SECOND) - empty
        self._counted_at = now
        if self._allowed < 0:
            raise FloodError("too many frames without content")
