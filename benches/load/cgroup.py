"""Memory-limited control groups (cgroup v1 and v2), and the resource usage of a process.

Linux only. Creating a control group needs root.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

MEBIBYTE = 1024 * 1024
_VERSION_2 = Path("/sys/fs/cgroup")
_VERSION_1 = _VERSION_2 / "memory"


class ResourceUsage(NamedTuple):
    """Resource usage of a process: resident, private and peak memory in bytes, open files, threads, CPU seconds."""

    resident: int
    private: int
    peak: int
    files: int
    threads: int
    seconds: float


def resource_usage(pid: int) -> ResourceUsage:
    """Returns the resource usage of a process.

    Raises:
        FileNotFoundError: the process does not exist.
    """
    process = Path(f"/proc/{pid}")
    status = dict(re.findall(r"^(\w+):\s+(\d+)", (process / "status").read_text(), re.MULTILINE))
    resident, private, peak = (int(status[name]) * 1024 for name in ("VmRSS", "RssAnon", "VmHWM"))
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return ResourceUsage(
        resident, private, peak, len(list((process / "fd").iterdir())), int(status["Threads"]), seconds
    )


class MemoryCgroup:
    """A control group with a memory limit, which includes the page cache of its processes."""

    def __init__(self, limit: int) -> None:
        """Creates the group.

        Args:
            limit: bytes, without swap.

        Raises:
            OSError: control groups are not available, or not permitted to this user.
        """
        self._is_v2 = "memory" in _read(_VERSION_2 / "cgroup.controllers").split()
        self._folder = (_VERSION_2 if self._is_v2 else _VERSION_1) / f"spanwise-{os.getpid()}"
        if self._is_v2:
            with suppress(OSError):
                (_VERSION_2 / "cgroup.subtree_control").write_text("+memory")
        self._folder.mkdir()
        limits = ("memory.max",) if self._is_v2 else ("memory.limit_in_bytes",)
        for name in limits:
            (self._folder / name).write_text(str(limit))
        with suppress(OSError):  # a kernel without swap lacks this file
            (self._folder / ("memory.swap.max" if self._is_v2 else "memory.swappiness")).write_text("0")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.rmdir()

    def add(self, pid: int) -> None:
        """Adds a process and its future children."""
        (self._folder / "cgroup.procs").write_text(str(pid))

    @property
    def peak(self) -> int:
        """Returns the peak memory of the group in bytes, including the page cache."""
        return int(_read(self._folder / ("memory.peak" if self._is_v2 else "memory.max_usage_in_bytes")) or 0)

    @property
    def limit_hits(self) -> int:
        """Returns how often the limit was reached. Each time, the kernel drops pages from the page cache."""
        if self._is_v2:
            return _count(self._folder / "memory.events", "max")
        return int(_read(self._folder / "memory.failcnt") or 0)

    @property
    def kills(self) -> int:
        """Returns the number of processes killed because memory ran out."""
        return _count(self._folder / ("memory.events" if self._is_v2 else "memory.oom_control"), "oom_kill")


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _count(path: Path, name: str) -> int:
    found = re.search(rf"^{name} (\d+)$", _read(path), re.MULTILINE)
    return int(found[1]) if found else 0
