"""The memory budgets: the settings that divide the memory of the process among its users.

Processing data takes several times the bytes that its budget counts. The sum of all budgets, each multiplied by its
factor, fits in the memory of the process together with the program itself: `docs/decisions/2026-11-21-memory.md`.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, get_args, get_type_hints

from msgspec import Meta, field

from spanwise.memory import memory_limit, share
from spanwise.settings.tokens import TokenSettings

MEBIBYTE = 1024 * 1024
PROGRAM_BYTES = 80 * MEBIBYTE
"""The memory of the idle program."""
MERGE_BYTES_PER_TRACE = 1024
"""Approximate memory per trace during a merge: two copies of its row, and its location."""
MERGE_DIVISOR = 12
"""The memory limit divided by this is the memory for merges."""
INDEX_DIVISOR = 12
"""The memory limit divided by this is the memory for collecting a document index, and again for writing it."""
MAX_SEGMENT_TRACES = 1_000_000
MAX_SEGMENTS = 64
"""The maximum number of segments with up to `MAX_SEGMENT_TRACES` each. Above it, the smallest are merged."""
COUNTING_BYTES_PER_TRACE = 64
"""Memory for counting, per trace of a full segment. Covers several concurrent counts with two segments each."""
MAX_DECODE_BYTES = 120 * MEBIBYTE
"""The memory for decoding the largest ingest request."""
HEAD_MEMORY_FACTOR = 2
"""The memory of unflushed spans, as a multiple of their bytes. Above it the head is flushed early."""


def _budget(fraction: str, factor: int, description: str) -> Meta:
    return Meta(ge=1, description=description, extra={"default": f"{fraction} of the memory", "factor": factor})


@cache
def max_segment_traces() -> int:
    """Returns the size of a full segment in traces, chosen so that a merge stays within its share of memory."""
    return min(MAX_SEGMENT_TRACES, memory_limit() // MERGE_DIVISOR // MERGE_BYTES_PER_TRACE)


@cache
def max_index_bytes() -> int:
    """Returns the largest document index of a segment in bytes of memory. A larger one is abandoned."""
    return memory_limit() // INDEX_DIVISOR


class Budgets(TokenSettings, frozen=True, kw_only=True):
    """The maximum number of bytes of each kind of data in memory at the same time."""

    search_buffer_bytes: Annotated[
        int, _budget("a sixteenth", 1, "Total search request bodies in memory; above this, searches get a 503.")
    ] = field(default_factory=lambda: share(16, MEBIBYTE))
    ingest_buffer_bytes: Annotated[
        int, _budget("a sixteenth", 1, "Total ingest request bodies in memory; above this, ingest requests get a 503.")
    ] = field(default_factory=lambda: share(16, 20 * MEBIBYTE))
    form_buffer_bytes: Annotated[
        int, _budget("a sixteenth", 1, "Total form bodies in memory; above this, requests with a form get a 503.")
    ] = field(default_factory=lambda: share(16, 10 * MEBIBYTE))
    decode_buffer_bytes: Annotated[
        int,
        _budget("an eighth", 1, "Memory for decoding ingest requests, per store; above this, requests wait."),
    ] = field(default_factory=lambda: share(8, MAX_DECODE_BYTES))
    unsealed_bytes: Annotated[
        int,
        _budget(
            "a quarter",
            HEAD_MEMORY_FACTOR,
            "Spans not yet sealed into a segment, per store; above this, ingest requests get a 503.",
        ),
    ] = field(default_factory=lambda: share(4, 16 * MEBIBYTE))
    page_buffer_bytes: Annotated[
        int,
        _budget(
            "an eighth", 2, "Trace documents held by all pages being built; others wait. A larger page gets a 413."
        ),
    ] = field(default_factory=lambda: share(8, 16 * MEBIBYTE))
    counting_buffer_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="Memory of aggregations and facets; above a caller's share, a 503. A larger one gets a 413.",
            extra={"default": "4 MiB, and 64 bytes for each trace of a full segment", "factor": 1},
        ),
    ] = field(default_factory=lambda: 4 * MEBIBYTE + COUNTING_BYTES_PER_TRACE * max_segment_traces())
    response_buffer_bytes: Annotated[
        int,
        _budget("an eighth", 1, "Response bytes that clients have not read yet; above this, requests get a 503."),
    ] = field(default_factory=lambda: share(8, 16 * MEBIBYTE))
    event_buffer_bytes: Annotated[
        int,
        _budget(
            "an eighth",
            1,
            "Inputs and events of runs in memory; above its share, a caller's requests for a run get a 503.",
        ),
    ] = field(default_factory=lambda: share(8, 16 * MEBIBYTE))
    websocket_buffer_bytes: Annotated[
        int,
        _budget("a sixty-fourth", 3, "WebSocket messages in memory; above this, sockets that send more are closed."),
    ] = field(default_factory=lambda: share(64, 2 * MEBIBYTE))


def max_segments() -> int:
    """Returns the maximum number of segments of a store. It is higher if memory keeps segments smaller."""
    return MAX_SEGMENTS * MAX_SEGMENT_TRACES // max_segment_traces()


def memory_factors() -> dict[str, int]:
    """Returns the peak memory of each budget, as a multiple of the bytes that the budget counts."""
    hints = get_type_hints(Budgets, include_extras=True)
    metas = {name: get_args(hints[name])[1] for name in Budgets.__annotations__}
    return {name: meta.extra["factor"] for name, meta in metas.items()}
