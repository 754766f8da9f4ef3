"""The bulk import: streams the batches of several sources into a store, bypassing its write-ahead log."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
from msgspec import structs

from spanwise.errors import SpanwiseError
from spanwise.traces.bulk_import.source import SCHEMA, RejectedSpans
from spanwise.traces.store_options import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanwise.settings import Settings
    from spanwise.traces.bulk_import.source import Source


class _Rejection(msgspec.Struct, frozen=True):
    span: int
    reason: str


class _EngineReport(msgspec.Struct, frozen=True, rename={"rejections": "refused"}):
    accepted: int
    rejected: int
    rejections: list[_Rejection]
    resumed: int


@dataclass(frozen=True)
class ImportReport:
    """The outcome of an import.

    Attributes:
        accepted: the number of imported spans in the store, including those from earlier imports.
        rejected: the number of rejected spans, and of rejected lines and messages whose spans are unknown.
        rejected_by_unit: the same, by the unit of each rejection.
        rejections: the first rejected spans and lines with their reasons, and unreadable sources.
        resumed: the number of spans processed by an interrupted run of the same import; included in the other counts.
        without_spans: the names of sources that were rejected as a whole, because every part of them was.
        skipped: for each source that has messages of other signals, the number of messages of each signal.
    """

    accepted: int
    rejected: int
    rejected_by_unit: dict[str, int]
    rejections: list[RejectedSpans]
    resumed: int
    without_spans: list[str]
    skipped: dict[str, dict[str, int]]


def import_spans(settings: Settings, sources: Sequence[Source], advance: Callable[[int], None]) -> ImportReport:
    """Imports the spans of `sources`, in order, into the store of `settings`. Creates the store if it does not exist.

    An interrupted import of unchanged files resumes where it stopped. Documents are not indexed during the import. They
    are indexed the next time the store is opened.

    Args:
        settings: names the store and how to open it.
        sources: the sources to read.
        advance: called with the progress since the last call.

    Raises:
        ConfigurationError: the store cannot be opened.
        StoreError: another process holds the store, it is damaged, or the storage failed. Spans imported before the
            error are durable.
        UnavailableError: the disk is too full.
    """
    stream = _SourceStream(sources, advance)
    # Indexes would take as much processor time as everything else, and closing the store discards the last ones.
    alone = structs.replace(
        settings, index_spans=False, index_texts=False, index_attributes=False, cluster="", followers=0
    )
    store = open_store(settings.trace_store, alone)
    try:
        reader = pa.RecordBatchReader.from_batches(SCHEMA, stream.batches())
        try:
            report = msgspec.json.decode(store.import_spans(reader, _name_of(sources)), type=_EngineReport)
        except SpanwiseError:
            # The engine reports an error of a source only as text, so the original is raised.
            if stream.error is not None:
                raise stream.error from None
            raise
    finally:
        store.close()
    unread = [rejected for source in sources for rejected in source.rejected]
    by_unit = Counter(span=report.rejected)
    for rejected in unread:
        by_unit[rejected.unit] += rejected.count
    return ImportReport(
        accepted=report.accepted,
        rejected=by_unit.total(),
        rejected_by_unit=+by_unit,
        rejections=unread + [RejectedSpans(stream.locate(each.span), each.reason, 1) for each in report.rejections],
        resumed=report.resumed,
        without_spans=stream.without_spans,
        skipped={source.name: dict(source.skipped) for source in sources if source.skipped},
    )


def _name_of(sources: Sequence[Source]) -> str:
    """Returns the name under which an interrupted import is resumed; empty if a source may have changed."""
    fingerprints = [source.fingerprint for source in sources]
    if None in fingerprints:
        return ""
    return sha256("\0".join(filter(None, fingerprints)).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass
class _SourceStream:
    """The batches of all sources as one stream, which records where each source begins.

    Attributes:
        sources: the sources to read.
        advance: called with the progress since the last call.
        starts: for each started source, the number of spans before it.
        without_spans: the names of sources with rejections and without a span.
        error: the error that ended the stream; None without an error.
    """

    sources: Sequence[Source]
    advance: Callable[[int], None]
    starts: list[int] = field(default_factory=list)
    without_spans: list[str] = field(default_factory=list)
    error: BaseException | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        spans = 0
        try:
            for source in self.sources:
                self.starts.append(spans)
                for batch in source.batches(self.advance):
                    spans += batch.num_rows
                    yield batch
                if source.rejected and spans == self.starts[-1]:
                    self.without_spans.append(source.name)
        except BaseException as error:  # includes Ctrl-C, which the engine would report as an error of the source
            self.error = error
            raise

    def locate(self, span: int) -> str:
        """Returns the source of a span of the stream and its position there, for people."""
        source = bisect_right(self.starts, span) - 1
        return f"{self.sources[source].name}, span {span - self.starts[source]}"
