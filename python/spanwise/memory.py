"""The memory that the process may use: the machine's memory, or the limit of its control groups."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BUDGET_BYTES = 1024 * 1024 * 1024
"""The upper limit of all budgets. Larger data is memory-mapped."""

_ROOT = Path("/")


def memory_limit(root: Path = _ROOT) -> int:
    """Returns the memory of the machine, or the smallest limit of the process's control groups, in bytes.

    Args:
        root: the folder that contains `proc` and `sys`.
    """
    return min([_machine_bytes(), *_cgroup_limits(root)])


@cache
def memory_budget() -> int:
    """Returns the bytes that the budgets divide: half the limit. The program and unplanned use take the other half."""
    return min(MAX_BUDGET_BYTES, memory_limit() // 2)


def share(divisor: int, minimum: int) -> int:
    """Returns the memory budget divided by `divisor`, but at least `minimum`, which one large request needs."""
    return max(memory_budget() // divisor, minimum)


def _machine_bytes() -> int:
    """Returns the memory of the machine. Returns a minimum on Windows, which runs no service."""
    if sys.platform == "win32":
        return 2 * MAX_BUDGET_BYTES
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _cgroup_limits(root: Path) -> Iterator[int]:
    """Yields the limits of the process's control groups and of all their parents.

    Source: Linux, "Control Group v2", memory.max; "Memory Resource Controller", memory.limit_in_bytes.
    """
    groups = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, name = groups, "memory.max"
        elif "memory" in controllers.split(","):
            top, name = groups / "memory", "memory.limit_in_bytes"
        else:
            continue
        inside = PurePosixPath(path.lstrip("/"))
        for group in (inside, *inside.parents):
            limit = _read(top / group / name).strip()
            if limit.isdecimal() and int(limit) > 0:
                yield int(limit)


def _read(path: Path) -> str:
    """Returns the text of a file; empty if the file is missing or cannot be read."""
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
