"""Returns freed heap memory to the operating system (`malloc_trim`).

The GNU C Library keeps freed memory in its heaps (arenas) and in gaps between used blocks. After half a minute of
ingest, it held four times the memory in use. See `docs/decisions/2026-11-21-memory.md`.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from pathlib import Path
from threading import Thread

from spanwise.memory import share

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Source: the GNU C Library, `malloc.h`."""

MEBIBYTE = 1024 * 1024
MMAP_THRESHOLD_BYTES = MEBIBYTE
"""Blocks of this size or more are mapped separately, and unmapped as soon as they are freed."""
HEAPS, HEAPS_PER_PROCESSOR = 64, 8
"""The number of heaps is at least 64 and at least eight per processor, which exceeds the number of threads. Threads
that share a heap wait for each other every few allocations. By default, the C library has only eight heaps per
processor."""
TRIM_THRESHOLD_BYTES = 8 * MEBIBYTE
"""Free memory that may remain at the end of a heap."""
POLL_SECONDS = 0.25
TRIM_INTERVAL_SECONDS = (5.0, 60.0)
"""The shortest and the longest interval between trims of a large process. It doubles after a trim that freed little."""

_STATM = Path("/proc/self/statm")
_PAGE_BYTES = mmap.PAGESIZE


class HeapTrimmer:
    """Trims the heap when the process has grown by a slack since its minimum, and periodically while it stays large.

    The periodic trim is needed because the process does not grow when memory is freed after a trim.
    """

    def __init__(self, slack: int) -> None:
        """Looks up the functions of the C library.

        Args:
            slack: the growth in bytes that triggers a trim.

        Raises:
            AttributeError: the C library has no such functions.
            OSError: this system does not report the memory of a process.
        """
        library = ctypes.CDLL(None)
        self._mallopt, self._malloc_trim = library.mallopt, library.malloc_trim
        self._slack = slack
        self._baseline = self._minimum = private_bytes()
        self._interval, self._next_trim = TRIM_INTERVAL_SECONDS[0], 0.0

    def configure(self) -> None:
        """Gives each thread a heap, maps large blocks separately, and trims the end of each heap early."""
        self._mallopt(_ARENA_MAX, max(HEAPS, HEAPS_PER_PROCESSOR * (os.cpu_count() or 1)))
        self._mallopt(_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
        self._mallopt(_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES)

    def trim_if_due(self, now: float) -> bool:
        """Trims the heap if a trim is due. Returns whether it did.

        Args:
            now: monotonic time in seconds.
        """
        private = private_bytes()
        has_grown = private > self._minimum + self._slack
        is_due = has_grown or (private > self._baseline + self._slack and now >= self._next_trim)
        if is_due:
            self._malloc_trim(0)
            self._minimum = private_bytes()
            was_worth_it = private - self._minimum > self._slack // 4
            shortest, longest = TRIM_INTERVAL_SECONDS
            self._interval = shortest if was_worth_it else min(2 * self._interval, longest)
            self._next_trim = now + self._interval
        self._minimum = min(self._minimum, private)
        return is_due


def private_bytes() -> int:
    """Returns the resident memory of the process that is not shared with files.

    Raises:
        OSError: this system does not report it.
    """
    _, resident, shared, *_ = map(int, _STATM.read_text("ascii").split())
    return (resident - shared) * _PAGE_BYTES


def trim_slack() -> int:
    """Returns the number of freed bytes that the process may keep."""
    return share(16, 16 * MEBIBYTE)


def start_trimming() -> bool:
    """Starts a thread that trims the heap of this process. Returns False if the C library or system has no support."""
    try:
        trimmer = HeapTrimmer(trim_slack())
    except (AttributeError, OSError):
        return False
    trimmer.configure()
    Thread(target=_watch, args=(trimmer,), name="spanwise-malloc-trim", daemon=True).start()
    return True


def _watch(trimmer: HeapTrimmer) -> None:
    while True:
        time.sleep(POLL_SECONDS)
        trimmer.trim_if_due(time.monotonic())
