"""Downloads of traces: bounded in number, each produced chunk by chunk as its reader takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.fair_budget import FairBudget
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

_THREADS = 2


class Downloads:
    """Runs the downloads of all stores. A chunk is produced only once its predecessor was taken.

    Attributes:
        pool: the threads that produce chunks.
    """

    def __init__(self) -> None:
        """Creates the threads' pool."""
        self.pool = Pool("export", _THREADS, MAX_DOWNLOADS)
        self._places = FairBudget(MAX_DOWNLOADS, f"more than {MAX_DOWNLOADS} exports at once")

    async def run(self, begin: Callable[[], Download]) -> AsyncGenerator[bytes, None]:
        """Returns the chunks of a download, the first of which is ready.

        Args:
            begin: starts the download; called in a thread.

        Raises:
            SpanwiseError: `begin` failed.
            UnavailableError: too many downloads at once, or too many of this caller.
        """
        self._places.expect_available()

        def first_chunk() -> tuple[Download, bytes | None]:
            export = begin()
            return export, next(export, None)

        export, first = await self.pool.run(first_chunk)
        return self._chunks(export, first, self._places.hold())

    async def _chunks(self, export: Download, chunk: bytes | None, place: Holding) -> AsyncGenerator[bytes, None]:
        with place:
            place.count(1)
            while chunk is not None:
                yield chunk
                chunk = await self.pool.run(lambda: next(export, None))
