"""The order of a store's system calls: file and folder are synced before a result is reported to a caller.

Killing a process cannot test this, because the page cache survives.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from support.programs import environment

CALLS = "openat,write,writev,pwrite64,fsync,fdatasync,linkat,link,rename,renameat,renameat2,unlink,unlinkat"
LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)")
OPENED = re.compile(r'"([^"]+)", ([A-Z_|]*O_CREAT[A-Z_|]*)')
LINKED = re.compile(r'"([^"]+)".*"([^"]+)"')
REPORTS = {"opened": 2, "ingested": 1, "flushed": 1, "deleted": 1, "closed": 1}
"""The minimum number of objects that must have been named before a report."""


class Call(NamedTuple):
    """A successful system call: its name and its arguments, in which descriptors have their paths."""

    name: str
    arguments: str

    @property
    def file(self) -> str:
        """Returns the path of the descriptor in the first argument."""
        return self.arguments.partition("<")[2].partition(">")[0]


def traced(folder: Path, log: Path) -> list[Call]:
    """Returns the calls of a program that uses a store in `folder`, in order of completion."""
    command = ["strace", "-f", "-y", "-s", "32", "-e", f"trace={CALLS}", "-o", str(log)]
    command += [sys.executable, "-m", "support.programs.synced_store", str(folder)]
    ended = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    if ended.returncode != 0 and "ptrace" in ended.stderr:
        pytest.skip("tracing is not permitted")
    assert ended.returncode == 0, ended.stderr
    begun: dict[str, str] = {}
    calls = []
    for line in log.read_text().splitlines():
        thread = line.split()[0]
        whole = line
        if line.endswith("<unfinished ...>"):
            begun[thread] = line.removesuffix("<unfinished ...>")
            continue
        if resumed := re.match(r"^\d+ +<\.\.\. \w+ resumed>(.*)$", line):
            whole = begun.pop(thread) + resumed[1]
        if (match := LINE.match(whole)) and int(match[3]) >= 0:
            calls.append(Call(match[1], match[2]))
    return calls


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_everything_is_synced_before_it_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    calls = traced(folder, tmp_path / "calls")
    unsynced_files: set[str] = set()
    unsynced_folders: set[str] = set()
    named = 0
    reports = []
    for call in calls:
        report = re.match(r'1<[^>]*>, "(\w+)\\n"', call.arguments) if call.name == "write" else None
        if report:
            reports.append(report[1])
            assert not unsynced_folders, f"{report[1]} before {unsynced_folders} are synced"
            assert named >= REPORTS[report[1]], f"{report[1]} without a new object"
            named = 0
        elif call.name == "openat" and (created := OPENED.search(call.arguments)):
            path = created[1]
            if path.startswith(str(folder)) and is_object(path, folder) and not path.partition("#")[1]:
                unsynced_folders.add(str(Path(path).parent))
        elif call.name in {"write", "writev", "pwrite64"} and call.file.startswith(str(folder)):
            unsynced_files.add(call.file)
        elif call.name in {"fsync", "fdatasync"}:
            unsynced_files.discard(call.file)
            unsynced_folders.discard(call.file)
        elif call.name.startswith("link") and (linked := LINKED.search(call.arguments)):
            staged, path = linked[1], linked[2]
            assert staged not in unsynced_files, f"{path} is named before it is synced"
            if path.startswith(str(folder / "manifest")):
                inside = {file for file in unsynced_files if is_object(file, folder)}
                assert not inside, f"{path} is named before {inside} are synced"
            unsynced_folders.add(str(Path(path).parent))
            named += 1
    assert reports == ["opened", *["ingested"] * 3, "flushed", "deleted", "ingested", "closed"]


def is_object(path: str, folder: Path) -> bool:
    """Returns True if a file is an object of the store, not its lock or cache."""
    return Path(path).relative_to(folder).parts[0] in {"wal", "manifest", "segments"}
