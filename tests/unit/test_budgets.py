"""The memory budgets derived from the memory limit of the process."""

from __future__ import annotations

import pytest

from spanwise.budgets import HEAD_TIMES, MERGED_BYTES, PROGRAM_BYTES, Budgets, most_segments, segment_traces, times
from spanwise.malloc_trim import kept_bytes
from spanwise.memory import planned_bytes
from spanwise.settings import Settings

MEBIBYTE = 1024 * 1024


@pytest.mark.parametrize(("allowed", "head", "bodies"), [(64, 256, 64), (1, 128, 32), (0.25, 32, 20)])
def test_budgets_follow_from_the_allowed_memory(
    monkeypatch: pytest.MonkeyPatch, allowed: float, head: int, bodies: int
) -> None:
    """Allowed memory in gibibytes; expected unsealed spans and waiting request bodies in mebibytes."""
    monkeypatch.setattr("spanwise.memory.allowed_bytes", lambda: int(allowed * 1024 * MEBIBYTE))
    planned_bytes.cache_clear()
    try:
        settings = Settings()
    finally:
        planned_bytes.cache_clear()
    assert (settings.unsealed_bytes, settings.ingest_waiting_bytes) == (head * MEBIBYTE, bodies * MEBIBYTE)


@pytest.mark.parametrize("allowed", [1, 1.5, 2, 8, 64])
def test_all_budgets_together_fit_into_the_allowed_memory(monkeypatch: pytest.MonkeyPatch, allowed: float) -> None:
    """Counts each budget as often as it can be held at once. Spans waiting for a commit add up to a quarter."""
    bytes_allowed = int(allowed * 1024 * MEBIBYTE)
    monkeypatch.setattr("spanwise.memory.allowed_bytes", lambda: bytes_allowed)
    monkeypatch.setattr("spanwise.budgets.allowed_bytes", lambda: bytes_allowed)
    planned_bytes.cache_clear()
    try:
        budgets = Budgets()
        retained = kept_bytes()
    finally:
        planned_bytes.cache_clear()
    taken = sum(count * getattr(budgets, name) for name, count in times().items())
    waiting = HEAD_TIMES * budgets.unsealed_bytes // 4
    merging = segment_traces() * MERGED_BYTES
    assert taken + waiting + retained + merging + PROGRAM_BYTES <= bytes_allowed
    assert segment_traces() * most_segments() > 60_000_000, "before that no segment becomes larger than planned"
