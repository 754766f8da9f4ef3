"""Freed heap memory is returned to the operating system, even if it is fragmented."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHILD = """
from spanwise.malloc_trim import MEBIBYTE, HeapTrimmer, private_bytes

try:
    trimmer = HeapTrimmer(16 * MEBIBYTE)
except (AttributeError, OSError):
    raise SystemExit(3)
trimmer.configure()
before = private_bytes()
blocks = [b"x" * 60_000 for _ in range(2000)]
full = private_bytes()
assert full > before + 100 * MEBIBYTE, (before, full)
between = blocks[::50]
looks = [trimmer.trim_if_due(now) for now in (1, 2)]
assert looks == [True, False], looks
del blocks
looks = [trimmer.trim_if_due(now) for now in (3, 100, 101, 200)]
assert looks == [False, True, False, False], looks
assert private_bytes() < before + 32 * MEBIBYTE, (before, private_bytes())
"""


def test_freed_heap_is_returned_to_the_system() -> None:
    ended = subprocess.run([sys.executable, "-c", CHILD], check=False, capture_output=True, text=True)
    if ended.returncode == 3:
        pytest.skip("this C library has no malloc_trim")
    assert ended.returncode == 0, ended.stderr
