"""The memory budgets derived from the memory limit of the process."""

from __future__ import annotations

import pytest

from spanwise.budgets import (
    HEAD_MEMORY_FACTOR,
    MERGE_BYTES_PER_TRACE,
    PROGRAM_BYTES,
    Budgets,
    max_segment_traces,
    max_segments,
    memory_factors,
)
from spanwise.malloc_trim import trim_slack
from spanwise.memory import memory_budget
from spanwise.settings import Settings

MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize(("allowed", "head", "bodies"), [(64, 256, 64), (1, 128, 32), (0.25, 32, 20)])
def test_budgets_follow_from_the_allowed_memory(
    monkeypatch: pytest.MonkeyPatch, allowed: float, head: int, bodies: int
) -> None:
    """Allowed memory in gibibytes; expected unsealed spans and waiting request bodies in mebibytes."""
    monkeypatch.setattr("spanwise.memory.memory_limit", lambda: int(allowed * 1024 * MEBIBYTE))
    memory_budget.cache_clear()
    try:
        settings = Settings()
    finally:
        memory_budget.cache_clear()
    assert (settings.unsealed_bytes, settings.ingest_buffer_bytes) == (head * MEBIBYTE, bodies * MEBIBYTE)


@pytest.mark.parametrize("allowed", [1, 1.5, 2, 8, 64])
def test_all_budgets_together_fit_into_the_allowed_memory(monkeypatch: pytest.MonkeyPatch, allowed: float) -> None:
    """Counts each budget as often as it can be held at once. Spans waiting for a commit add up to a quarter."""
    bytes_allowed = int(allowed * 1024 * MEBIBYTE)
    monkeypatch.setattr("spanwise.memory.memory_limit", lambda: bytes_allowed)
    monkeypatch.setattr("spanwise.budgets.memory_limit", lambda: bytes_allowed)
    memory_budget.cache_clear()
    try:
        budgets = Budgets()
        retained = trim_slack()
    finally:
        memory_budget.cache_clear()
    taken = sum(count * getattr(budgets, name) for name, count in memory_factors().items())
    waiting = HEAD_MEMORY_FACTOR * budgets.unsealed_bytes // 4
    merging = max_segment_traces() * MERGE_BYTES_PER_TRACE
    assert taken + waiting + retained + merging + PROGRAM_BYTES <= bytes_allowed
    assert max_segment_traces() * max_segments() > 60_000_000, "before that no segment becomes larger than planned"
