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
        accepted: how many spans are in the store now, including those that were there before.
        rejected: how many spans were rejected, and lines and messages whose spans are unknown.
        rejected_by_unit: the same, by the unit of each rejection.
        rejections: the first rejected spans and lines with their reasons, and unreadable sources.
        resumed: how many spans an interrupted run of the same import had processed; included in the other counts.
        without_spans: the names of sources that were rejected as a whole, because every part of them was.
        skipped: for each source that has messages of other signals, how many messages of each.
    """

    accepted: int
    rejected: int
    rejected_by_unit: dict[str, int]
    rejections: list[RejectedSpans]
    resumed: int
    without_spans: list[str]
    skipped: dict[str, dict[str, int]]


def import_spans(settings: Settings, sources: Sequence[Source], advance: Callable[[int], None]) -> ImportReport:
    """Imports the spans of `sources`, in order, into the store of `settings`, which is created if there is none.

    An interrupted import of unchanged files resumes where it was interrupted. Documents are not indexed meanwhile:
    whoever opens the store next does that.

    Args:
        settings: names the store and how to open it.
        sources: what to read.
        advance: called with how much more was read.

    Raises:
        ConfigurationError: the store cannot be opened.
        StoreError: another process holds the store, it is damaged, or the storage failed. What was imported until
            then is durable.
        UnavailableError: the disk is too full.
    """
    stream = _SourceStream(sources, advance)
    # Indexes would take as much of the processor as all else, and the last ones are given up when a store is closed.
    alone = structs.replace(
        settings, index_spans=False, index_texts=False, index_attributes=False, cluster="", followers=0
    )
    store = open_store(settings.trace_store, alone)
    try:
        reader = pa.RecordBatchReader.from_batches(SCHEMA, stream.batches())
        try:
            report = msgspec.json.decode(store.import_spans(reader, _name_of(sources)), type=_EngineReport)
        except SpanwiseError:
            # The engine reports an error of a source as text only: raise the original.
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
    """The batches of all sources as one stream, which remembers where each source begins.

    Attributes:
        sources: what to read.
        advance: called with how much more was read.
        starts: for each source begun, the number of spans before it.
        without_spans: the names of sources with rejections and without a span.
        error: the error that ended the stream, if one did.
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
        except BaseException as error:  # Ctrl-C too: the engine would report it as an error of the source
            self.error = error
            raise

    def locate(self, span: int) -> str:
        """Returns the source of a span of the stream and its position there, for people."""
        source = bisect_right(self.starts, span) - 1
        return f"{self.sources[source].name}, span {span - self.starts[source]}"
