"""Downloads of traces, limited in number. Each chunk is produced when its reader takes the previous one."""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING

from spanwise.errors import UnavailableError
from spanwise.pools.pool import Pool
from spanwise.traces.download_slots import MAX_DOWNLOADS, DownloadSlots

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from spanwise.traces.download_slots import RunningDownload

FORMATS = {
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
    "ndjson": "application/x-ndjson",
    "otlp": "application/x-protobuf",
}
"""The media type of each format."""

_THREADS = 2


class Downloads:
    """Runs the downloads of all stores. A chunk is produced only after its predecessor is taken.

    Attributes:
        pool: the threads that produce chunks.
    """

    def __init__(self) -> None:
        """Creates the thread pool."""
        self.pool = Pool("export", _THREADS, MAX_DOWNLOADS)
        self._slots = DownloadSlots()

    async def run(self, begin: Callable[[], Iterator[bytes]]) -> AsyncGenerator[bytes, None]:
        """Returns the chunks of a download after the first one is ready.

        Args:
            begin: starts the download; called in a thread.

        Raises:
            SpanwiseError: `begin` failed.
            UnavailableError: too many downloads are running, in total or of this caller, and no slot became free in
                time.
        """
        chunks = self._chunks(begin)
        await anext(chunks)
        return chunks

    async def _chunks(self, begin: Callable[[], Iterator[bytes]]) -> AsyncGenerator[bytes, None]:
        """Yields an empty chunk when the first one is ready, then all of them. It holds a slot until it is closed."""

        def first_chunk() -> bytes | None:
            running.export = begin()
            return _next_chunk(running)

        async with self._slots.slot() as running:
            chunk = await self.pool.run(first_chunk, is_admitted=True)
            yield b""
            while chunk is not None:
                running.waits_since = time.monotonic()
                yield chunk
                running.waits_since = math.inf
                chunk = await self.pool.run(partial(_next_chunk, running), is_admitted=True)


def _next_chunk(running: RunningDownload) -> bytes | None:
    if running.is_preempted or running.export is None:
        raise UnavailableError("export cancelled: its slot went to a caller with fewer exports; retry")
    return next(running.export, None)
