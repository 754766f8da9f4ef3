"""Limits the cost of the frames of one connection before they are parsed, and splits them into pieces.

A frame takes the same time to parse whether it carries 16 KiB or is empty. A flood of empty frames would keep the event
loop busy: resets, pings, settings, window updates, or data byte by byte. A flood of headers for requests that are reset
or refused would do the same. This module reads only the nine-byte header of each frame.

Source: RFC 9113, sections 4.1 and 10.5.
"""

from __future__ import annotations

import struct
import time
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PREFACE_BYTES = 24
MAX_HEADER_BYTES = 16 * 1024
"""Header bytes of one request, both compressed and decompressed. HPACK adds 32 bytes per header. A token takes up to 8
KiB."""
MAX_FRAMES_AT_ONCE = 32
"""Frames in one piece. A piece has the headers of at most one request."""
CONTROL_BYTES = 64
"""A frame that is neither data nor headers counts once more per this many bytes, because its settings are parsed."""
SMALL_DATA_BYTES = 1024
"""A shorter data frame that does not end the body counts as empty."""
BURST = 1000
PER_SECOND = 100
PER_REQUEST = 8
"""Nearly empty frames, and headers: the burst, the rate per second, and the credit for each served request."""

_HEAD = struct.Struct(">HBBB4x")
_DATA, _HEADERS, _CONTINUATION = 0, 1, 9
_END_STREAM = 1


class FloodError(Exception):
    """The client sends more empty frames or requests, or larger headers, than any exporter does."""


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
        """Allows the frames that belong to one more served request."""
        self._allowed = min(BURST, self._allowed + PER_REQUEST)

    def count(self, data: bytes) -> list[bytes]:
        """Counts the frames that begin in `data`, and splits it into pieces with the headers of at most one request.

        Raises:
            FloodError: the client sent too many empty frames or requests, or too many header bytes.
        """
        whole, before = self._partial + data, len(self._partial)
        position, cost, frames, cuts = self._skip, 0, 0, [0]
        while position + _HEAD.size <= len(whole):
            high, low, kind, flags = _HEAD.unpack_from(whole, position)
            length = high << 8 | low
            frames += 1
            if kind == _HEADERS or frames > MAX_FRAMES_AT_ONCE:
                cuts.append(max(0, position - before))
                frames = 1
            cost += self._cost(kind, flags, length)
            position += _HEAD.size + length
        self._skip = max(0, position - len(whole))
        self._partial = whole[position:]
        self._spend(cost)
        return [data[start:end] for start, end in pairwise([*cuts, len(data)]) if start < end]

    def _cost(self, kind: int, flags: int, length: int) -> int:
        if kind in {_HEADERS, _CONTINUATION}:
            self._header_bytes = length + (self._header_bytes if kind == _CONTINUATION else 0)
            if self._header_bytes > MAX_HEADER_BYTES:
                raise FloodError(f"the headers of a request are larger than {MAX_HEADER_BYTES} bytes")
            return 1
        if kind == _DATA:
            return int(length < SMALL_DATA_BYTES and not flags & _END_STREAM)
        return 1 + length // CONTROL_BYTES

    def _spend(self, cost: int) -> None:
        if not cost:
            return
        now = self._clock()
        self._allowed = min(BURST, self._allowed + (now - self._counted_at) * PER_SECOND) - cost
        self._counted_at = now
        if self._allowed < 0:
            raise FloodError("too many frames without content, or requests")
