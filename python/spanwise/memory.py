"""How much memory may this process have?"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_PLANNED = 1024 * 1024 * 1024
"""More than this is not worth it: what is larger is mapped."""

_ROOT = Path("/")


def allowed_bytes(root: Path = _ROOT) -> int:
    """Returns what the machine has, or the least limit of the control groups that the process is in.

    Args:
        root: where `proc` and `sys` are.
    """
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([machine, *_group_limits(root)])


@cache
def planned_bytes() -> int:
    """Returns how much memory to plan with; the other half is for the program itself, and for what nobody can plan."""
    return min(MOST_PLANNED, allowed_bytes() // 2)


def share(parts: int, least: int) -> int:
    """Returns one of so many parts of the memory to plan with, but at least what one large request takes."""
    return max(planned_bytes() // parts, least)


def _group_limits(root: Path) -> Iterator[int]:
    """Yields the limits of every group of the process and of the groups these are in.

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
    """Returns a file's text; none where this system has no such file, or it is not ours to read."""
    try:
        return path.read_text("utf-8")
    except OSError:
        return ""
