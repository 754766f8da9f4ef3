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
PAUSE_SECONDS = (5.0, 60.0)
"""While the process is large all the same, what is free is given back so often: the sooner, the more there was."""

_STATM = Path("/proc/self/statm")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Freed:
    """Gives back what is freed, each time that the process has grown by so much since it was least, and now and then.

    What was in use then, and is freed later, does not show: the process stays as large as it is.
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
        self._first = self._least = private_bytes()
        self._pause, self._again = PAUSE_SECONDS[0], 0.0

    def bound(self) -> None:
        """Has fewer heaps, without large blocks, and with little free at the end of each."""
        self._set_option(_ARENA_MAX, 2 * (os.cpu_count() or 1))
        self._set_option(_MMAP_THRESHOLD, LARGE_BYTES)
        self._set_option(_TRIM_THRESHOLD, END_BYTES)

    def look(self, now: float) -> bool:
        """Gives back what is free, if it is time to; returns whether it was.

        Args:
            now: seconds, from whenever.
        """
        private = private_bytes()
        has_grown = private > self._least + self._kept
        is_time = has_grown or (private > self._first + self._kept and now >= self._again)
        if is_time:
            self._give_back(0)
            self._least = private_bytes()
            was_worth_it = private - self._least > self._kept // 4
            self._pause = PAUSE_SECONDS[0] if was_worth_it else min(2 * self._pause, PAUSE_SECONDS[1])
            self._again = now + self._pause
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
        freed.look(time.monotonic())
