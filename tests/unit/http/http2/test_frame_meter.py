from __future__ import annotations

import itertools
import random
import struct
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from spanwise.http.http2.frame_meter import (
    BURST,
    CONTROL_BYTES,
    MAX_FRAMES_AT_ONCE,
    MAX_HEADER_BYTES,
    PER_REQUEST,
    PER_SECOND,
    PREFACE_BYTES,
    SMALL_DATA_BYTES,
    FloodError,
    FrameMeter,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

DATA, HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
PREFACE = bytes(PREFACE_BYTES)


def frame(kind: int, size: int = 0, flags: int = 0) -> bytes:
    return struct.pack(">I", size)[1:] + struct.pack(">BBI", kind, flags, 1) + bytes(size)


def empty_frames_allowed(meter: FrameMeter, piece: bytes) -> int:
    """Returns the number of times that a piece passes."""
    for count in range(10 * BURST):
        try:
            meter.count(piece)
        except FloodError:
            return count
    return 10 * BURST


@pytest.mark.parametrize(
    ("piece", "allowed"),
    [
        (frame(DATA, SMALL_DATA_BYTES), 10 * BURST),
        (frame(DATA, SMALL_DATA_BYTES - 1), BURST),
        (frame(DATA, 0, flags=1), 10 * BURST),
        (frame(DATA), BURST),
        (frame(HEADERS, 10, flags=4), BURST),
        (frame(CONTINUATION), BURST),
        (frame(RST_STREAM, 4), BURST),
        (frame(PING, 8), BURST),
        (frame(0x77, CONTROL_BYTES - 1), BURST),
        (frame(0x77, 9 * CONTROL_BYTES), BURST // 10),
        (frame(SETTINGS, 99 * CONTROL_BYTES), BURST // 100),
    ],
)
def test_what_carries_nothing_is_limited(piece: bytes, allowed: int) -> None:
    meter = FrameMeter(lambda: 0.0)
    meter.count(PREFACE)
    assert empty_frames_allowed(meter, piece) == allowed


def test_time_and_requests_allow_more() -> None:
    now = 0.0
    meter = FrameMeter(lambda: now)
    meter.count(PREFACE)
    assert empty_frames_allowed(meter, frame(PING, 8)) == BURST
    meter = FrameMeter(lambda: now)
    meter.count(PREFACE + frame(PING, 8) * BURST)
    now = 1.0
    meter.add_request()
    assert empty_frames_allowed(meter, frame(PING, 8)) == PER_SECOND + PER_REQUEST


def test_a_long_silence_allows_no_more_than_a_burst() -> None:
    now = 0.0
    meter = FrameMeter(lambda: now)
    meter.count(PREFACE)
    now = 1e6
    assert empty_frames_allowed(meter, frame(PING, 8)) == BURST


def passed(pieces: Iterable[bytes]) -> tuple[int, int]:
    """Returns the bytes received before the rejected piece, and including it."""
    meter, before, after = FrameMeter(lambda: 0.0), 0, 0
    for piece in pieces:
        before, after = after, after + len(piece)
        try:
            meter.count(piece)
        except FloodError:
            return before, after
    raise AssertionError("nothing was rejected")


@pytest.mark.parametrize("seed", range(20))
def test_it_does_not_matter_where_the_bytes_are_cut(seed: int) -> None:
    """A stream is rejected at the piece that ends the head of the same frame, however it is split."""
    draw = random.Random(seed)
    frames = [frame(draw.choice([DATA, HEADERS, PING]), draw.choice([0, 5, 20, 2000])) for _ in range(3000)]
    stream = PREFACE + b"".join(frames)
    cuts = sorted({0, len(stream), *(draw.randrange(len(stream)) for _ in range(5000))})
    beginning, _ = passed([PREFACE, *frames])
    before, after = passed(stream[start:end] for start, end in pairwise(cuts))
    assert before < beginning + 9 <= after


def test_headers_are_limited_with_their_continuations() -> None:
    meter = FrameMeter(lambda: 0.0)
    meter.count(PREFACE)
    for _ in range(3):
        meter.count(frame(HEADERS, 8_000) + frame(CONTINUATION, 8_000))
    with pytest.raises(FloodError, match=f"larger than {MAX_HEADER_BYTES} bytes"):
        meter.count(frame(HEADERS, 8_000) + frame(CONTINUATION, 8_000) + frame(CONTINUATION, 1_000))


@pytest.mark.parametrize("seed", range(20))
def test_a_piece_has_the_headers_of_one_request_and_few_frames(seed: int) -> None:
    draw = random.Random(seed)
    kinds = [draw.choice([DATA, DATA, HEADERS, PING, PING]) for _ in range(500)]
    frames = [frame(kind, draw.choice([0, 2000]) if kind == DATA else 8) for kind in kinds]
    pieces = FrameMeter(lambda: 0.0).count(PREFACE + b"".join(frames))
    assert b"".join(pieces) == PREFACE + b"".join(frames)
    ends = list(itertools.accumulate(map(len, pieces)))
    starts = list(itertools.accumulate(map(len, frames), initial=PREFACE_BYTES))
    for begin, end in pairwise([0, *ends]):
        inside = [kind for kind, start in zip(kinds, starts, strict=False) if begin <= start < end]
        assert inside.count(HEADERS) <= 1
        assert len(inside) <= MAX_FRAMES_AT_ONCE


@pytest.mark.parametrize("seed", range(10))
def test_pieces_are_what_arrived(seed: int) -> None:
    draw = random.Random(seed)
    stream = PREFACE + b"".join(frame(draw.choice([DATA, HEADERS, PING]), draw.choice([0, 5, 900])) for _ in range(300))
    cuts = sorted({0, len(stream), *(draw.randrange(len(stream)) for _ in range(500))})
    meter = FrameMeter(lambda: 0.0)
    for start, end in pairwise(cuts):
        pieces = meter.count(stream[start:end])
        assert b"".join(pieces) == stream[start:end]
        assert all(pieces)
