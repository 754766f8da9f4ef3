"""The memory limit of the process, from the machine and its control groups, and the budgets derived from it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from spanwise.budgets import HEAD_TIMES, MERGED_BYTES, PROGRAM_BYTES, Budgets, most_segments, segment_traces, times
from spanwise.malloc_trim import kept_bytes
from spanwise.memory import allowed_bytes, planned_bytes
from spanwise.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

MEBIBYTE = 1024 * 1024
MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
NONE = "9223372036854771712"
"""What version 1 of control groups reports for a group without a limit."""


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
    assert allowed_bytes(tmp_path) == expected


def test_a_system_without_groups_has_its_own_memory(tmp_path: Path) -> None:
    assert allowed_bytes(tmp_path) == MACHINE


@pytest.mark.parametrize(("allowed", "head", "bodies"), [(64, 256, 64), (1, 128, 32), (0.25, 32, 20)])
def test_what_waits_in_memory_follows_from_what_there_is(
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
def test_all_budgets_together_are_within_what_there_is(monkeypatch: pytest.MonkeyPatch, allowed: float) -> None:
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
