"""How fast the memory of this machine is: read in order by all cores, and at random places by one."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_BLOCK_BYTES = 256 << 20
_ATTEMPTS = 7
_RANDOM_BYTES = 512 << 20
_READS = 100_000


def bytes_a_second() -> float:
    """Returns the bytes a second that all cores together read in order: the best of some attempts."""
    cores = os.cpu_count() or 1
    blocks = [np.ones(_BLOCK_BYTES // 8, np.int64) for _ in range(cores)]
    best = 0.0
    with ThreadPoolExecutor(cores) as threads:
        for _ in range(_ATTEMPTS):
            begun = time.perf_counter()
            list(threads.map(np.max, blocks))
            best = max(best, cores * _BLOCK_BYTES / (time.perf_counter() - begun))
    return best


class RandomReads:
    """A block of memory that no cache holds, which is read at random places.

    What looks up a few rows waits for such reads, and where others use the same memory they can take several times as
    long in one minute as in the next.
    """

    def __init__(self, seed: int) -> None:
        """Takes 512 MiB of memory; the places are drawn from the seed."""
        self._values = np.ones(_RANDOM_BYTES // 8, np.int64)
        self._rng = np.random.default_rng(seed)

    def nanoseconds(self) -> float:
        """Returns the nanoseconds that a read takes, as the mean of 100,000 which need not wait for each other."""
        places = self._rng.integers(0, len(self._values), _READS)
        begun = time.perf_counter_ns()
        self._values.take(places)
        return (time.perf_counter_ns() - begun) / _READS
