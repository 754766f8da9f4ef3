"""Services whose shards are processes in Ray, and the processes that they start."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

CLUSTER = ("--shards", "3", "--cluster", "local")
"""The arguments of a service with three shards in separate processes."""
with_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is missing: pip install 'spanwise[cluster]'")
"""The mark of a test that starts Ray and is fast enough for the gate."""
needs_ray = (with_ray, pytest.mark.slow)
"""The marks of tests that start Ray. A service has a dozen processes, which take a minute to start on two cores."""


def descendants(pid: int) -> dict[int, str]:
    """Returns the descendants of a process: ids with command lines."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The program name is in parentheses and may contain any character.
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # the process has ended
    found: dict[int, str] = {}
    generation = {pid}
    while generation := {own for own, parent in parents.items() if parent in generation}:
        for own in generation:
            try:
                found[own] = (Path("/proc") / str(own) / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
    return found


def shard_processes(pid: int) -> list[int]:
    """Returns the processes of the shards of a service."""
    return sorted(own for own, command in descendants(pid).items() if command.startswith("ray::ShardActor"))


def are_gone(processes: dict[int, str]) -> bool:
    """Returns True if all of these processes have ended."""
    for pid in processes:
        try:
            if (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                return False
        except OSError:
            continue
    return True
