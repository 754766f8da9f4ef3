"""What the process may have of memory, as the machine and its control groups say."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

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
from spanwise.memory import memory_budget, memory_limit
from spanwise.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

MEBIBYTE = 1024 * 1024
MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
NONE = "9223372036854771712"
"""What the older version says of a group without a limit."""


@pytest.mark.parametrize(
    ("groups", "limits", "expected"),
    [
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": f"{64 * MEBIBYTE}"}, 64 * MEBIBYTE),
        ("0::/a/b", {"a/b/memory.max": f"{32 * MEBIBYTE}\n", "a/memory.max": f"{64 * MEBIBYTE}"}, 32 * MEBIBYTE),
        ("0::/", {"memory.max": f"{16 * MEBIBYTE}"}, 16 * MEBIBYTE),
        ("0::/of/the/host", {"memory.max": f"{16 * MEBIBYTE}"}, 16 * MEBIBYTE),
        ("4:memory:/a\n0::/", {"memory/a/memory.limit_in_bytes": f"{8 * MEBIBYTE}"}, 8 * MEBIBYTE),
        ("4:cpu,memory:/a", {"memory/a/memory.limit_in_bytes": NONE, "memory/memory.limit_in_bytes": NONE}, MACHINE),
        ("4:cpu:/a", {"memory/a/memory.limit_in_bytes": "1"}, MACHINE),
        ("0::/", {"memory.max": "max"}, MACHINE),
        ("0::/", {"memory.max": "-1"}, MACHINE),
        ("", {}, MACHINE),
    ],
)
def test_the_least_limit_holds(tmp_path: Path, groups: str, limits: dict[str, str], expected: int) -> None:
    files = {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{name}": text for name, text in limits.items()}}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert memory_limit(tmp_path) == expected


def test_a_system_without_groups_has_its_own_memory(tmp_path: Path) -> None:
    assert memory_limit(tmp_path) == MACHINE


@pytest.mark.parametrize(("allowed", "head", "bodies"), [(64, 256, 64), (1, 128, 32), (0.25, 32, 20)])
def test_what_waits_in_memory_follows_from_what_there_is(
    monkeypatch: pytest.MonkeyPatch, allowed: float, head: int, bodies: int
) -> None:
    """Gibibytes that are allowed; mebibytes of spans that are not sealed, and of bodies of exports."""
    monkeypatch.setattr("spanwise.memory.memory_limit", lambda: int(allowed * 1024 * MEBIBYTE))
    memory_budget.cache_clear()
    try:
        settings = Settings()
    finally:
        memory_budget.cache_clear()
    assert (settings.unsealed_bytes, settings.ingest_buffer_bytes) == (head * MEBIBYTE, bodies * MEBIBYTE)


@pytest.mark.parametrize("allowed", [1, 1.5, 2, 8, 64])
def test_all_budgets_together_are_within_what_there_is(monkeypatch: pytest.MonkeyPatch, allowed: float) -> None:
    """Each as often as what it counts is in memory at most; spans wait for a commit up to a quarter of the others."""
    bytes_allowed = int(allowed * 1024 * MEBIBYTE)
    monkeypatch.setattr("spanwise.memory.memory_limit", lambda: bytes_allowed)
    monkeypatch.setattr("spanwise.budgets.memory_limit", lambda: bytes_allowed)
    memory_budget.cache_clear()
    try:
        budgets = Budgets()
        freed = trim_slack()
    finally:
        memory_budget.cache_clear()
    taken = sum(most * getattr(budgets, name) for name, most in memory_factors().items())
    waiting = HEAD_MEMORY_FACTOR * budgets.unsealed_bytes // 4
    merging = max_segment_traces() * MERGE_BYTES_PER_TRACE
    assert taken + waiting + freed + merging + PROGRAM_BYTES <= bytes_allowed
    assert max_segment_traces() * max_segments() > 60_000_000, "before that no segment becomes larger than planned"
