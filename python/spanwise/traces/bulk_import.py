"""Spans in bulk: from files and databases into a store, past its write-ahead."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from spanwise.traces.sources import SCHEMA, Refused
from spanwise.traces.store_options import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanwise.settings import Settings
    from spanwise.traces.sources import Source


class _Refusal(msgspec.Struct, frozen=True):
    span: int
    reason: str


class _Imported(msgspec.Struct, frozen=True):
    accepted: int
    rejected: int
    refused: list[_Refusal]
    resumed: int


@dataclass(frozen=True)
class Imported:
    """What became of an import.

    Attributes:
        accepted: spans that are in the store now, those that were there before included.
        rejected: spans that were refused.
        refused: the first of them with their reasons, and what could not be read at all.
        resumed: spans that an interrupted run of the same import had dealt with; they are in the counts.
    """

    accepted: int
    rejected: int
    refused: list[Refused]
    resumed: int


def import_spans(settings: Settings, sources: Sequence[Source], advance: Callable[[int], None]) -> Imported:
    """Returns what became of the spans of `sources` in the store of `settings`, which is made if there is none.

    Args:
        settings: which store, and how it is opened.
        sources: what is read, in this order.
        advance: is told how much more was read.

    Raises:
        ConfigurationError: the store cannot be opened.
        StoreError: another process holds the store, it is damaged, or the storage below failed. What was imported
            before is durable; the same import goes on behind it.
        UnavailableError: the disk is too full.
    """
    stream = _Stream(sources, advance)
    store = open_store(settings.trace_store, settings)
    try:
        reader = pa.RecordBatchReader.from_batches(SCHEMA, stream.batches())
        try:
            report = msgspec.json.decode(store.import_spans(reader, _name_of(sources)), type=_Imported)
        except Exception:
            # What a source raised reaches us through the engine as text alone.
            if stream.failure is not None:
                raise stream.failure from None
            raise
    finally:
        store.close()
    unread = [refused for source in sources for refused in source.refused]
    return Imported(
        accepted=report.accepted,
        rejected=report.rejected + sum(refused.count for refused in unread),
        refused=unread + [Refused(stream.place_of(refusal.span), refusal.reason, 1) for refusal in report.refused],
        resumed=report.resumed,
    )


def _name_of(sources: Sequence[Source]) -> str:
    """Returns the name by which an interrupted import is known again; none if what it reads may have changed."""
    fingerprints = [source.fingerprint for source in sources]
    if None in fingerprints:
        return ""
    return sha256("\0".join(filter(None, fingerprints)).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass
class _Stream:
    """The batches of all sources, and where the spans of each begin."""

    sources: Sequence[Source]
    advance: Callable[[int], None]
    starts: list[int] = field(default_factory=list)
    failure: BaseException | None = None

    def batches(self) -> Iterator[pa.RecordBatch]:
        spans = 0
        try:
            for source in self.sources:
                self.starts.append(spans)
                for batch in source.batches(self.advance):
                    spans += batch.num_rows
                    yield batch
        except BaseException as error:
            self.failure = error
            raise

    def place_of(self, span: int) -> str:
        source = bisect_right(self.starts, span) - 1
        return f"{self.sources[source].name}, span {span - self.starts[source]}"
