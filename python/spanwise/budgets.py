"""The settings that part the memory: what each kind of thing may take of it, together.

What a budget counts takes several times as much while it is worked with. All budgets, each so many times, and the
program itself are within what the process may have: `docs/decisions/2026-11-21-memory.md`.
"""

from __future__ import annotations

from typing import Annotated, get_args, get_type_hints

from msgspec import Meta, field

from spanwise.memory import allowed_bytes, share
from spanwise.token_settings import TokenSettings

MEBIBYTE = 1024 * 1024
PROGRAM_BYTES = 80 * MEBIBYTE
"""What the program takes while nothing waits."""
MERGED_BYTES = 1024
"""About what a trace takes while segments are merged: its row twice, and its place."""
MERGING_PARTS = 12
MOST_SEGMENT_TRACES = 1_000_000
MOST_SEGMENTS = 64
"""Where segments may be that large; beyond them the smallest are merged, however large they become."""
DECODING_BYTES = 120 * MEBIBYTE
"""What the largest export takes at most while it is decoded."""
HEAD_TIMES = 2
"""Spans that are in no segment may take so many times their bytes; those that take more are sealed sooner."""


def _part(part: str, times: int, description: str) -> Meta:
    return Meta(ge=1, description=description, extra={"default": f"{part} of the memory", "times": times})


class Budgets(TokenSettings, frozen=True, kw_only=True):
    """What may be in memory at once, in bytes."""

    search_waiting_bytes: Annotated[
        int, _part("a sixteenth", 1, "Bodies of searches in memory, together; beyond them the answer is 503.")
    ] = field(default_factory=lambda: share(16, MEBIBYTE))
    ingest_waiting_bytes: Annotated[
        int, _part("a sixteenth", 1, "Bodies of exports in memory, together; beyond them the answer is 503.")
    ] = field(default_factory=lambda: share(16, 20 * MEBIBYTE))
    form_waiting_bytes: Annotated[
        int, _part("a sixteenth", 1, "Forms in memory, together; beyond them the answer is 503.")
    ] = field(default_factory=lambda: share(16, 10 * MEBIBYTE))
    decoding_bytes: Annotated[
        int,
        _part("an eighth", 1, "What exports of a store take at most while they are decoded, together; others wait."),
    ] = field(default_factory=lambda: share(8, DECODING_BYTES))
    unsealed_bytes: Annotated[
        int,
        _part("a quarter", HEAD_TIMES, "Spans of a store that are in no segment yet; beyond them the answer is 503."),
    ] = field(default_factory=lambda: share(4, 16 * MEBIBYTE))
    page_bytes: Annotated[
        int, _part("an eighth", 2, "Traces of all pages that are made at once; others wait. A page with more is 413.")
    ] = field(default_factory=lambda: share(8, 16 * MEBIBYTE))
    answer_waiting_bytes: Annotated[
        int,
        _part(
            "an eighth", 1, "Answers in memory that their readers did not take yet, together; beyond them it is 503."
        ),
    ] = field(default_factory=lambda: share(8, 16 * MEBIBYTE))
    event_bytes: Annotated[
        int, _part("an eighth", 1, "Events of runs in memory, together; beyond them no run begins, the answer is 503.")
    ] = field(default_factory=lambda: share(8, 16 * MEBIBYTE))


def segment_traces() -> int:
    """Returns how many traces segments are merged to: a twelfth of what the process may have is enough for them."""
    return min(MOST_SEGMENT_TRACES, allowed_bytes() // MERGING_PARTS // MERGED_BYTES)


def most_segments() -> int:
    """Returns how many segments there may be: the smaller they stay, the more."""
    return MOST_SEGMENTS * MOST_SEGMENT_TRACES // segment_traces()


def times() -> dict[str, int]:
    """Returns how often what each budget counts is in memory at most."""
    hints = get_type_hints(Budgets, include_extras=True)
    metas = {name: get_args(hints[name])[1] for name in Budgets.__annotations__}
    return {name: meta.extra["times"] for name, meta in metas.items()}
