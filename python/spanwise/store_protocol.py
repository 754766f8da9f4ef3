"""The protocol of a trace store, both for a single store and for a sharded one.

`spanwise._engine.TraceStore` describes each method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from spanwise._engine import (
        Aggregation,
        AttributeKeys,
        CancellationToken,
        Facets,
        Filter,
        IngestReport,
        LogIngestReport,
        Page,
        SpanFilter,
    )


class PreparedAggregation(Protocol):
    """An aggregation with a known memory limit."""

    @property
    def max_bytes(self) -> int:
        """Returns the maximum memory of the aggregation, in bytes."""
        ...

    def run(self, cancel: CancellationToken | None = None) -> tuple[bytes, int]:
        """Returns the response's `data` as JSON, and the number of matching traces."""
        ...


class FacetPlan(Protocol):
    """Facets with a known memory limit."""

    @property
    def bytes(self) -> int:
        """Returns an upper bound of the memory for counting, in bytes."""
        ...

    def run(self, cancel: CancellationToken | None = None) -> Facets:
        """Returns the counted facets."""
        ...


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

    def search_runs(  # noqa: PLR0913, PLR0917  # the signature of the engine
        self,
        filter: Filter,  # noqa: A002
        page: int,
        limit: int,
        detail: str = "full",
        sort: tuple[str, bool] = ("start_time", False),
        ends_when_full: bool = False,  # noqa: FBT001, FBT002
        matches: bool = False,  # noqa: FBT001, FBT002
        cancel: CancellationToken | None = None,
    ) -> Page:
        """Returns one page of traces."""
        ...

    def search_sessions(
        self,
        filter: Filter,  # noqa: A002
        page: int,
        limit: int,
        cancel: CancellationToken | None = None,
    ) -> Page:
        """Returns one page of sessions."""
        ...

    def search_spans(  # noqa: PLR0913, PLR0917  # the signature of the engine
        self,
        filter: Filter,  # noqa: A002
        spans: SpanFilter,
        page: int,
        limit: int,
        ends_when_full: bool = False,  # noqa: FBT001, FBT002
        with_matches: bool = False,  # noqa: FBT001, FBT002
        cancel: CancellationToken | None = None,
    ) -> Page:
        """Returns one page of spans."""
        ...

    def prepare(self, aggregation: Aggregation, cancel: CancellationToken | None = None) -> PreparedAggregation:
        """Selects the traces of an aggregation and determines their groups."""
        ...

    def plan_facets(
        self,
        filter: Filter,  # noqa: A002
        keys: list[str],
        limit: int,
        prefix: tuple[str, str] | None = None,
        exclude_own: bool = False,  # noqa: FBT001, FBT002
    ) -> FacetPlan:
        """Plans the facets of some fields."""
        ...

    def attribute_keys(
        self,
        filter: Filter,  # noqa: A002
        limit: int,
        prefix: str = "",
        cancel: CancellationToken | None = None,
    ) -> AttributeKeys:
        """Counts the keys of attributes."""
        ...

    def tail_feed(self) -> TailFeed:
        """Returns the feed that follows the store for all readers."""
        ...

    def trace(self, trace_id: str, filter: Filter, detail: str = "full") -> bytes | None:  # noqa: A002
        """Returns one trace as JSON; None if it does not exist or does not match the filter."""
        ...

    def damaged_trace(self, trace_id: str, filter: Filter, detail: str = "full") -> bytes | None:  # noqa: A002
        """Returns a trace with a damaged document as JSON."""
        ...

    def span(
        self,
        trace_id: str,
        span_id: str,
        filter: Filter,  # noqa: A002
        max_bytes: int | None = None,
    ) -> bytes | None:
        """Returns one span as JSON; None if it does not exist or its trace does not match the filter."""
        ...

    def value(
        self,
        trace_id: str,
        span_id: str,
        filter: Filter,  # noqa: A002
        part: tuple[str, int, int | None],
    ) -> bytes | None:
        """Returns a part of one value of a span as JSON."""
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
