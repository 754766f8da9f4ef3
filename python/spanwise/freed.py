"""Does what is freed go back to the system?

The GNU C Library keeps it, in heaps of which there are eight a processor, and in holes between what is in use: after
half a minute of exports it kept four times what was in use. See `docs/decisions/2026-11-21-memory.md`.
"""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path
from threading import Thread

from spanwise.memory import share

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Source: the GNU C Library, `malloc.h`."""

MEBIBYTE = 1024 * 1024
LARGE_BYTES = MEBIBYTE
"""A block of this size or more comes from the system, and goes back to it at once."""
END_BYTES = 8 * MEBIBYTE
"""So much stays free at the end of a heap."""
LOOK_SECONDS = 0.25

_STATM = Path("/proc/self/statm")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Freed:
    """Gives back what is freed, each time that the process has grown by so much since it was least.

    What is in use cannot be given back: who grows by that alone looks in vain once, and then again after as much.
    """

    def __init__(self, kept: int) -> None:
        """Finds the library's own functions.

        Args:
            kept: by how many bytes the process may grow.

        Raises:
            AttributeError: it is another library, which has no such functions.
            OSError: this system does not say how much memory a process takes.
        """
        library = ctypes.CDLL(None)
        self._set_option, self._give_back = library.mallopt, library.malloc_trim
        self._kept = kept
        self._least = private_bytes()

    def bound(self) -> None:
        """Has fewer heaps, without large blocks, and with little free at the end of each."""
        self._set_option(_ARENA_MAX, 2 * (os.cpu_count() or 1))
        self._set_option(_MMAP_THRESHOLD, LARGE_BYTES)
        self._set_option(_TRIM_THRESHOLD, END_BYTES)

    def look(self) -> bool:
        """Gives back what is free, if it is time to; returns whether it was."""
        private = private_bytes()
        is_time = private > self._least + self._kept
        if is_time:
            self._give_back(0)
            self._least = private_bytes()
        self._least = min(self._least, private)
        return is_time


def private_bytes() -> int:
    """Returns how much memory the process takes that is no file's.

    Raises:
        OSError: this system does not say.
    """
    _, resident, shared, *_ = map(int, _STATM.read_text("ascii").split())
    return (resident - shared) * _PAGE_BYTES


def kept_bytes() -> int:
    """Returns how much of what is freed may stay."""
    return share(16, 16 * MEBIBYTE)


def give_back_freed() -> bool:
    """Has this process give back what it freed, from now on; returns whether it can."""
    try:
        freed = Freed(kept_bytes())
    except (AttributeError, OSError):
        return False
    freed.bound()
    Thread(target=_watch, args=(freed,), name="spanwise-freed", daemon=True).start()
    return True


def _watch(freed: Freed) -> None:
    while True:
        time.sleep(LOOK_SECONDS)
        freed.look()
