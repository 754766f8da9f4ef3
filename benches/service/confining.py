"""A process under a real limit of memory, and what it takes of memory, files, threads and time of processors.

The limit is that of a control group, of either version, which only root may make; Linux alone has them.
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


class Taken(NamedTuple):
    """What a process takes at one moment: bytes of memory, all and private, its highest; files, threads; seconds."""

    resident: int
    private: int
    highest: int
    files: int
    threads: int
    seconds: float


def taken_by(pid: int) -> Taken:
    """Returns what a process takes.

    Raises:
        FileNotFoundError: it is gone.
    """
    process = Path(f"/proc/{pid}")
    status = dict(re.findall(r"^(\w+):\s+(\d+)", (process / "status").read_text(), re.MULTILINE))
    resident, private, highest = (int(status[name]) * 1024 for name in ("VmRSS", "RssAnon", "VmHWM"))
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return Taken(resident, private, highest, len(list((process / "fd").iterdir())), int(status["Threads"]), seconds)


class MemoryGroup:
    """Processes that have at most so many bytes of memory together; the files they read and wrote count too."""

    def __init__(self, limit: int) -> None:
        """Makes the group.

        Args:
            limit: bytes. Nothing is swapped out to stay below it.

        Raises:
            OSError: this machine, or this user, cannot.
        """
        self._is_newer = "memory" in _read(_VERSION_2 / "cgroup.controllers").split()
        self._folder = (_VERSION_2 if self._is_newer else _VERSION_1) / f"spanwise-{os.getpid()}"
        if self._is_newer:
            with suppress(OSError):
                (_VERSION_2 / "cgroup.subtree_control").write_text("+memory")
        self._folder.mkdir()
        limits = ("memory.max",) if self._is_newer else ("memory.limit_in_bytes",)
        for name in limits:
            (self._folder / name).write_text(str(limit))
        with suppress(OSError):  # a kernel without swap has no such file
            (self._folder / ("memory.swap.max" if self._is_newer else "memory.swappiness")).write_text("0")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.rmdir()

    def add(self, pid: int) -> None:
        """Adds a process; those it starts later are in the group too."""
        (self._folder / "cgroup.procs").write_text(str(pid))

    @property
    def highest(self) -> int:
        """Returns the most bytes that the group had at once, those of files included."""
        return int(_read(self._folder / ("memory.peak" if self._is_newer else "memory.max_usage_in_bytes")) or 0)

    @property
    def times_full(self) -> int:
        """Returns how often the limit was met; files are then let go."""
        if self._is_newer:
            return _count(self._folder / "memory.events", "max")
        return int(_read(self._folder / "memory.failcnt") or 0)

    @property
    def kills(self) -> int:
        """Returns how many processes were killed because nothing could be let go."""
        return _count(self._folder / ("memory.events" if self._is_newer else "memory.oom_control"), "oom_kill")


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _count(path: Path, name: str) -> int:
    found = re.search(rf"^{name} (\d+)$", _read(path), re.MULTILINE)
    return int(found[1]) if found else 0
