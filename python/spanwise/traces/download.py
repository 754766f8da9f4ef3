"""Exports of all stores: bounded in number, each read piece by piece as its caller takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.errors import UnavailableError
from spanwise.traces.pools import Pool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from spanwise._engine import Export

FORMATS = {
    "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.stream",
    "ndjson": "application/x-ndjson",
    "otlp": "application/x-protobuf",
}
"""The formats of an export, each with its media type."""

MOST_OPEN = 8
"""Exports that may be under way at once; each takes up to about 100 MiB."""

_THREADS = 2


class Exporting:
    """Runs exports. A piece is made only when the one before was taken."""

    def __init__(self) -> None:
        """Prepares the threads."""
        self.pool = Pool("export", _THREADS, MOST_OPEN)
        self._open = 0

    async def run(self, begin: Callable[[], Export]) -> AsyncGenerator[bytes, None]:
        """Returns the pieces of the export that `begin` begins; the first one is made already.

        Raises:
            SpanwiseError: the export cannot be begun.
            UnavailableError: too many exports at once.
        """
        if self._open >= MOST_OPEN:
            raise UnavailableError(f"more than {MOST_OPEN} exports at once")

        def begun() -> tuple[Export, bytes | None]:
            export = begin()
            return export, next(export, None)

        export, first = await self.pool.run(begun)
        return self._pieces(export, first)

    async def _pieces(self, export: Export, piece: bytes | None) -> AsyncGenerator[bytes, None]:
        self._open += 1
        try:
            while piece is not None:
                yield piece
                piece = await self.pool.run(lambda: next(export, None))
        finally:
            self._open -= 1
