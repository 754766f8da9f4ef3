"""Memory: the mapped part of a file."""

from __future__ import annotations

import mmap
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spanwise.bench import machine

if TYPE_CHECKING:
    from collections.abc import Iterator

_BYTES = 4 << 20


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "a file with spaces"
    made.write_bytes(b"x" * _BYTES)
    return made


@pytest.fixture
def mapped(file: Path) -> Iterator[mmap.mmap]:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as mapping:
        yield mapping


def resident_bytes(file: Path) -> int:
    """Returns the bytes of a file that are resident in this process's mappings."""
    whole = Path("/proc/self/smaps").read_text("utf-8")
    found = re.findall(rf"{re.escape(str(file))}\n(?:.*\n)*?Rss: +(\d+) kB", whole)
    return sum(map(int, found)) * 1024


@pytest.mark.usefixtures("mapped")
def test_every_page_of_a_mapped_file_is_resident(file: Path) -> None:
    assert resident_bytes(file) < _BYTES
    machine.map_into_memory([file])
    assert resident_bytes(file) == _BYTES


@pytest.mark.usefixtures("mapped")
def test_other_files_are_left_alone(file: Path, tmp_path: Path) -> None:
    machine.map_into_memory([tmp_path / "another"])
    assert resident_bytes(file) < _BYTES


def test_a_mapping_that_cannot_be_read_is_named(file: Path) -> None:
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ):
        file.write_bytes(b"")
        with pytest.raises(OSError, match="a file with spaces"):
            machine.map_into_memory([file])
