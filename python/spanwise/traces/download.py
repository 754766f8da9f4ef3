"""Downloads of traces: bounded in number, each produced chunk by chunk as its reader takes it."""

from __future__ import annotations

import math
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from spanwise.errors import UnavailableError
from spanwise.fair_budget import FairBudget, current_caller
from spanwise.traces.pools import Pool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from spanwise._engine import Download
    from spanwise.fair_budget import Holding

FORMATS = {
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
    "ndjson": "application/x-ndjson",
    "otlp": "application/x-protobuf",
}
"""The media type of each format."""

MAX_DOWNLOADS = 8
"""Concurrent downloads; each takes up to about 100 MiB of memory."""

UNUSED_SECONDS = 5.0
"""A reader that takes nothing for this long may lose its place to a caller that has none."""

_THREADS = 2


class _Running:
    """A download in progress.

    Attributes:
        place: the place that it holds.
        export: what produces its chunks; None before it began, and after it was cut.
        waits_since: when its reader got the last chunk, in monotonic time; infinite while a chunk is produced.
        is_cut: whether it lost its place.
    """

    def __init__(self, place: Holding) -> None:
        self.place = place
        self.export: Download | None = None
        self.waits_since = math.inf
        self.is_cut = False

    def cut(self) -> None:
        """Gives its place and its memory to somebody else. It fails when its reader asks for more."""
        self.is_cut = True
        self.export = None
        self.place.release()


class Downloads:
    """Runs the downloads of all stores. A chunk is produced only once its predecessor was taken.

    Attributes:
        pool: the threads that produce chunks.
    """

    def __init__(self) -> None:
        """Creates the threads' pool."""
        self.pool = Pool("export", _THREADS, MAX_DOWNLOADS)
        self._places = FairBudget(MAX_DOWNLOADS, f"more than {MAX_DOWNLOADS} exports at once")
        self._running: set[_Running] = set()

    async def run(self, begin: Callable[[], Download]) -> AsyncGenerator[bytes, None]:
        """Returns the chunks of a download, the first of which is ready.

        Args:
            begin: starts the download; called in a thread.

        Raises:
            SpanwiseError: `begin` failed.
            UnavailableError: too many downloads at once, or too many of this caller.
        """
        chunks = self._chunks(begin)
        await anext(chunks)
        return chunks

    async def _chunks(self, begin: Callable[[], Download]) -> AsyncGenerator[bytes, None]:
        """Yields an empty chunk when the first one is ready, then all of them. It has a place until it is closed."""

        def first_chunk() -> tuple[Download, bytes | None]:
            export = begin()
            return export, next(export, None)

        with self._take_place() as place:
            running = _Running(place)
            self._running.add(running)
            try:
                running.export, chunk = await self.pool.run(first_chunk, is_admitted=True)
                yield b""
                while chunk is not None:
                    running.waits_since = time.monotonic()
                    yield chunk
                    running.waits_since = math.inf
                    chunk = await self.pool.run(partial(_next_chunk, running.export), is_admitted=True)
            finally:
                self._running.discard(running)

    def _take_place(self) -> Holding:
        """Returns a place of the current caller. One that has none gets one that somebody with several does not use.

        Raises:
            UnavailableError: too many downloads at once, or too many of this caller.
        """
        try:
            return self._places.take()
        except UnavailableError:
            unused = self._unused()
            if unused is None or self._places.held(current_caller.get()):
                raise
            unused.cut()
            return self._places.take()

    def _unused(self) -> _Running | None:
        """Returns the download whose reader has taken nothing for longest, among those of the caller with most."""
        running = [each for each in self._running if not each.is_cut]
        callers = Counter(each.place.caller for each in running).most_common(1)
        if not callers or callers[0][1] == 1:
            return None
        own = [each for each in running if each.place.caller == callers[0][0]]
        longest = min(own, key=lambda each: each.waits_since)
        return longest if time.monotonic() - longest.waits_since >= UNUSED_SECONDS else None


def _next_chunk(export: Download | None) -> bytes | None:
    if export is None:
        raise UnavailableError("the export was not read, and others wanted its place")
    return next(export, None)
