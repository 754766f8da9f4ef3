"""The memory budgets: the settings that divide the memory of the process among the things that use it.

Working on data takes several times the bytes that its budget counts. All budgets, each multiplied by that factor, fit
in the memory of the process together with the program itself: `docs/decisions/2026-11-21-memory.md`.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, get_args, get_type_hints

from msgspec import Meta, field

from spanwise.memory import memory_limit, share
from spanwise.settings.tokens import TokenSettings

MEBIBYTE = 1024 * 1024
PROGRAM_BYTES = 80 * MEBIBYTE
"""Memory that the idle program takes."""
MERGE_BYTES_PER_TRACE = 1024
"""Approximate memory per trace while segments are merged: two copies of its row, and its location."""
MERGE_DIVISOR = 12
"""Merging may use this fraction of the memory limit."""
INDEX_DIVISOR = 12
"""Collecting an index of documents may take this fraction of the memory limit, and writing it as much again."""
MAX_SEGMENT_TRACES = 1_000_000
MAX_SEGMENTS = 64
"""Segments of a store whose segments hold up to `MAX_SEGMENT_TRACES`; above it the smallest are merged, at any size."""
COUNTING_BYTES_PER_TRACE = 64
"""Memory for counting, per trace of a full segment: for several counts at once, each with two segments."""
MAX_DECODE_BYTES = 120 * MEBIBYTE
"""Memory that decoding the largest ingest request takes."""
HEAD_MEMORY_FACTOR = 2
"""Memory that unsealed spans may take, as a multiple of their bytes; the head is sealed early above it."""


def _budget(fraction: str, factor: int, description: str) -> Meta:
    return Meta(ge=1, description=description, extra={"default": f"{fraction} of the memory", "factor": factor})


@cache
def max_segment_traces() -> int:
    """Returns the size of a full segment in traces, such that merging stays within its share of the memory."""
    return min(MAX_SEGMENT_TRACES, memory_limit() // MERGE_DIVISOR // MERGE_BYTES_PER_TRACE)


@cache
def max_index_bytes() -> int:
    """Returns the memory, in bytes, above which an index of the documents of a segment is given up."""
    return memory_limit() // INDEX_DIVISOR


class Budgets(TokenSettings, frozen=True, kw_only=True):
    """How many bytes each kind of data may hold in memory at the same time."""

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
    """Returns how many segments a store may have: more of them where memory keeps each one smaller."""
    return MAX_SEGMENTS * MAX_SEGMENT_TRACES // max_segment_traces()


def memory_factors() -> dict[str, int]:
    """Returns, for each budget, the peak memory use as a multiple of the bytes that the budget counts."""
    hints = get_type_hints(Budgets, include_extras=True)
    metas = {name: get_args(hints[name])[1] for name in Budgets.__annotations__}
    return {name: meta.extra["factor"] for name, meta in metas.items()}
