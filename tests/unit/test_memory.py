"""The memory limit of the process, from the machine and its control groups."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from spanwise.memory import memory_limit

if TYPE_CHECKING:
    from pathlib import Path

MEBIBYTE = 1024 * 1024
MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
NONE = "9223372036854771712"
"""The value that control groups of version 1 report without a limit."""


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
