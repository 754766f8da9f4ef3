"""The memory budgets derived from the memory limit of the process."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from spanwise.malloc_trim import trim_slack
from spanwise.memory import memory_budget
from spanwise.settings import Settings
from spanwise.settings.budgets import (
    HEAD_MEMORY_FACTOR,
    MERGE_BYTES_PER_TRACE,
    PROGRAM_BYTES,
    Budgets,
    max_segment_traces,
    max_segments,
    memory_factors,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MEBIBYTE = 1024 * 1024


@contextmanager
def measured_anew() -> Iterator[None]:
    """Clears the values derived from the memory, before and after the test."""
    derived = (memory_budget, max_segment_traces)
    for each in derived:
        each.cache_clear()
    try:
        yield
    finally:
        for each in derived:
            each.cache_clear()


@pytest.mark.parametrize(("allowed", "head", "bodies"), [(64, 256, 64), (1, 128, 32), (0.25, 32, 20)])
def test_budgets_follow_from_the_allowed_memory(
    monkeypatch: pytest.MonkeyPatch, allowed: float, head: int, bodies: int
) -> None:
    """Allowed memory in gibibytes; expected unsealed spans and waiting request bodies in mebibytes."""
    monkeypatch.setattr("spanwise.memory.memory_limit", lambda: int(allowed * 1024 * MEBIBYTE))
    monkeypatch.setattr("spanwise.settings.budgets.memory_limit", lambda: int(allowed * 1024 * MEBIBYTE))
    with measured_anew():
        settings = Settings()
    assert (settings.unsealed_bytes, settings.ingest_buffer_bytes) == (head * MEBIBYTE, bodies * MEBIBYTE)


@pytest.mark.parametrize("allowed", [1, 1.5, 2, 8, 64])
def test_all_budgets_together_fit_into_the_allowed_memory(monkeypatch: pytest.MonkeyPatch, allowed: float) -> None:
    """Counts each budget as often as it can be held at the same time.

    Spans waiting for a commit add up to a quarter.
    """
    bytes_allowed = int(allowed * 1024 * MEBIBYTE)
    monkeypatch.setattr("spanwise.memory.memory_limit", lambda: bytes_allowed)
    monkeypatch.setattr("spanwise.settings.budgets.memory_limit", lambda: bytes_allowed)
    with measured_anew():
        budgets = Budgets()
        retained = trim_slack()
        segment = max_segment_traces()
        planned = segment * max_segments()
    taken = sum(count * getattr(budgets, name) for name, count in memory_factors().items())
    waiting = HEAD_MEMORY_FACTOR * budgets.unsealed_bytes // 4
    merging = segment * MERGE_BYTES_PER_TRACE
    assert taken + waiting + retained + merging + PROGRAM_BYTES <= bytes_allowed
    assert planned > 60_000_000, "before that no segment becomes larger than planned"
