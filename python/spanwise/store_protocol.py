"""The protocol of a trace store, both for a single store and for a sharded one.

`spanwise._engine.TraceStore` describes each method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from spanwise._engine import CancellationToken, Filter, IngestReport, LogIngestReport, Query, Response


class Tail(Protocol):
    """A reader of the traces that match a filter."""

    def rewind(self, number: int) -> bool:
        """Rewinds to just after event `number`. Returns True if that was possible."""
        ...


class TailFeed(Protocol):
    """Follows a store for all its readers."""

    @property
    def position(self) -> int:
        """Returns a number that changes when a trace may have changed."""
        ...

    def open(self, filter: Filter) -> Any:  # noqa: A002, ANN401  # each kind of store has readers of its own
        """Returns a reader, a `Tail`, of the traces committed from now on."""
        ...

    def poll(self, readers: list[tuple[Any, int]]) -> tuple[list[list[tuple[int, str, bytes]]], bool, list[str]]:
        """Updates readers, and takes the next events of each."""
        ...


class Download(Protocol):
    """The chunks of a file, with progress."""

    def __iter__(self) -> Iterator[bytes]:
        """Returns the chunks."""
        ...

    def __next__(self) -> bytes:
        """Returns the next chunk."""
        ...

    @property
    def progress(self) -> tuple[int, int, int]:
        """Returns the number of matching traces read, the number read or skipped, and the total."""
        ...


class Store(Protocol):
    """A trace store. Its methods block, and may be called from several threads at once."""

    @property
    def as_of(self) -> int | None:
        """Returns the time through which a followed store is complete, in microseconds since 1970. Never blocks.

        None for a store that was never read, or is not followed.
        """
        ...

    def ingest(self, body: bytes, content_type: str, content_encoding: str | None = None) -> IngestReport:
        """Stores the spans of one OTLP request, and returns once they are durable."""
        ...

    def ingest_logs(self, body: bytes, content_type: str, content_encoding: str | None = None) -> LogIngestReport:
        """Stores the span data in the log records of one OTLP request, and returns once it is durable."""
        ...

    def import_spans(self, stream: pa.RecordBatchReader, source: str = "") -> bytes:
        """Imports the spans of a stream of Arrow record batches; returns a report as JSON. See the engine's."""
        ...

    def query(
        self,
        query: Query,
        cancel: CancellationToken | None = None,
        reserve: Callable[[int], object] | None = None,
    ) -> Response:
        """Returns the response to a query. `reserve` is called before a large amount of memory is used."""
        ...

    def tail_feed(self) -> TailFeed:
        """Returns the feed that follows the store for all readers."""
        ...

    def export(self, filter: Filter, format: str) -> Download:  # noqa: A002
        """Returns the matching traces as the bytes of a file, in chunks."""
        ...

    def delete(self, filter: Filter, dry_run: bool = False) -> int:  # noqa: A002, FBT001, FBT002
        """Deletes the matching traces and returns their number; a dry run only counts them."""
        ...

    def flush(self) -> None:
        """Flushes the head to a segment."""
        ...

    def compact(self, purge: bool = False) -> None:  # noqa: FBT001, FBT002
        """Merges all segments; a purge also erases deleted data from the disk."""
        ...

    def stats(self) -> bytes:
        """Returns counts and sizes as JSON."""
        ...

    def close(self) -> None:
        """Closes the store and releases it to the next opener."""
        ...
