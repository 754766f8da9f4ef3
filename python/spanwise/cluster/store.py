"""A trace store over shards, with the methods of a trace store."""

from __future__ import annotations

import threading
import time
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from spanwise._engine import RequestSplitter, SpanFileJoiner
from spanwise.cluster.failover.guarded import GuardedShard
from spanwise.cluster.scatter import Scatter
from spanwise.cluster.shards.local import LocalShard
from spanwise.cluster.shards.shard import ShardLostError, Waiting
from spanwise.cluster.tail import ShardedTailFeed
from spanwise.cluster.writes import all_of, outcome_of, store_parts
from spanwise.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from spanwise._engine import (
        CancellationToken,
        Filter,
        IngestReport,
        LogIngestReport,
        Query,
        Response,
        SplitRequest,
    )
    from spanwise.cluster.failover.guarded import Counters
    from spanwise.cluster.shards.layout import Layout
    from spanwise.cluster.shards.shard import Outcome, Shard
    from spanwise.store_protocol import Download

Result = TypeVar("Result")

SEARCH_SECONDS = 30.0
INGEST_SECONDS = 10.0
"""The deadline of a search, and the time for retrying a part of a request that a shard does not accept."""
_JOINED = {"parquet", "arrow"}
"""Formats whose files cannot be concatenated."""
_TOGETHER: dict[str, Callable[[list[Any]], object]] = {"is_acknowledging": all, "as_of": min, "lag_seconds": max}
"""How the statistics of shards are combined. Statistics missing here are added up."""


class ShardedStore:
    """Searches, stores and deletes traces that are divided among shards. Like a trace store's, its methods block."""

    def __init__(
        self,
        layout: Layout,
        shards: Sequence[Shard],
        *,
        search_seconds: float = SEARCH_SECONDS,
        ingest_seconds: float = INGEST_SECONDS,
        max_decoding_bytes: int = 256 << 20,
    ) -> None:
        """Takes the shards of a layout, in its order, which `close` closes.

        Args:
            layout: determines the shard of a trace.
            shards: the shards.
            search_seconds: the deadline of a search.
            ingest_seconds: how long a part of a request is retried.
            max_decoding_bytes: the approximate memory of all requests being decoded.

        Raises:
            ConfigurationError: the prefixes of the layout do not cover every hash once.
            ValueError: the number of shards differs from the layout's.
        """
        if len(shards) != len(layout.shards):
            raise ValueError(f"expected {len(layout.shards)} shards, got {len(shards)}")
        self._splitter = RequestSplitter(layout.prefixes, max_decoding_bytes)
        self._layout = layout.number
        self._prefixes = layout.prefixes
        self._shards = tuple(shards)
        self._scatter = Scatter(shards, layout.number, search_seconds)
        self._ingest_seconds = ingest_seconds
        self._lock = threading.Lock()
        # The number of requests being split.
        self._splitting = 0

    def query(
        self,
        query: Query,
        cancel: CancellationToken | None = None,
        reserve: Callable[[int], object] | None = None,
    ) -> Response:
        """See `TraceStore.query`. A query of one trace asks only the shard that may have it.

        Raises:
            UnavailableError: a shard does not respond, or the deadline passed.
        """
        shard = None if query.trace_id is None else (self._splitter.shard_of(query.trace_id) or 0)
        return self._scatter.search(query, shard).run(cancel, reserve)

    def tail_feed(self) -> ShardedTailFeed:
        """See `TraceStore.tail_feed`."""
        return ShardedTailFeed(self._scatter, self._shards)

    def export(self, filter: Filter, format: str) -> ShardedDownload:  # noqa: A002
        """See `TraceStore.export`. The file has the traces of one shard after another, each shard in one state."""
        ask = self._scatter.ask(filter.to_query())
        form = "arrow" if format in _JOINED else format
        # All exports start before the first one is read, so that their states are only a moment apart.
        files = [call.result() for call in self._scatter.each(lambda shard: shard.export(ask, form))]
        return ShardedDownload(files, _joined(files, format) if format in _JOINED else chain.from_iterable(files))

    def ingest(self, body: bytes, content_type: str, content_encoding: str | None = None) -> IngestReport:
        """See `TraceStore.ingest`. Returns once every shard has stored its part.

        Raises:
            PartialWriteError: some shards have stored their part, and others did not accept it in time.
        """
        split = self._split(self._splitter.split, body, content_type, content_encoding)
        return split.report(self._store(split))

    def ingest_logs(self, body: bytes, content_type: str, content_encoding: str | None = None) -> LogIngestReport:
        """See `TraceStore.ingest_logs`, and `ingest`."""
        split = self._split(self._splitter.split_logs, body, content_type, content_encoding)
        return split.log_report(self._store(split))

    def import_spans(self, stream: pa.RecordBatchReader, source: str = "") -> bytes:
        """See `TraceStore.import_spans`. Requires shards in this process.

        Raises:
            ConfigurationError: a shard is in another process.
            SpanwiseError: see there.
        """
        stores = [shard.store for shard in self._shards if isinstance(shard, LocalShard)]
        return self._splitter.import_spans(stores, stream, source)

    def _split(self, split: Callable[..., SplitRequest], *request: bytes | str | None) -> SplitRequest:
        with self._lock:
            self._splitting += 1
        try:
            return split(*request)
        finally:
            with self._lock:
                self._splitting -= 1

    def _is_splitting(self) -> bool:
        return self._splitting > 0

    def _store(self, split: SplitRequest) -> list[Outcome]:
        return store_parts(self._scatter, split, Waiting(time.monotonic() + self._ingest_seconds, self._is_splitting))

    def delete(self, filter: Filter, dry_run: bool = False) -> int:  # noqa: A002, FBT001, FBT002
        """See `TraceStore.delete`. The deletion is atomic on each shard, but not across shards.

        Raises:
            PartialWriteError: some shards have deleted their traces, and others have not.
        """
        ask = self._scatter.ask(filter.to_query())
        calls = self._scatter.each(lambda shard: shard.delete(ask, dry_run=dry_run))
        if dry_run:
            return sum(call.result() for call in calls)
        return sum(all_of([outcome_of(call) for call in calls], "the traces may be deleted in part"))

    @property
    def as_of(self) -> int | None:
        """See `TraceStore.as_of`. The oldest value of all shards."""
        moments = [shard.as_of for shard in self._shards]
        known = [moment for moment in moments if moment is not None]
        return min(known) if len(known) == len(moments) else None

    def stats(self) -> bytes:
        """See `TraceStore.stats`: sums over all shards, and their errors.

        The follower stands in for a shard that does not respond.
        """
        stats = [call.result() for call in self._scatter.each(_stats_of)]
        return msgspec.json.encode(added_up(stats))

    def stats_of_shards(self) -> dict[str, dict[str, Any] | None]:
        """Returns the statistics of every shard by its prefix; None for a shard that does not respond."""
        calls = self._scatter.each(lambda shard: shard.stats())
        return {
            prefix: None if isinstance(call.exception(), UnavailableError) else msgspec.json.decode(call.result())
            for prefix, call in zip(self._prefixes, calls, strict=True)
        }

    def counters_of_shards(self) -> dict[str, Counters]:
        """Returns the counters of every shard in another process, by its prefix."""
        return {
            prefix: shard.counters
            for prefix, shard in zip(self._prefixes, self._shards, strict=True)
            if isinstance(shard, GuardedShard)
        }

    def flush(self) -> None:
        """See `TraceStore.flush`."""
        for call in self._scatter.each(lambda shard: shard.flush()):
            call.result()

    def compact(self, purge: bool = False) -> None:  # noqa: FBT001, FBT002
        """See `TraceStore.compact`."""
        for call in self._scatter.each(lambda shard: shard.compact(purge=purge)):
            call.result()

    def close(self) -> None:
        """Closes all shards."""
        calls = self._scatter.each(lambda shard: shard.close())
        self._scatter.close()
        for call in calls:
            call.result()


class ShardedDownload:
    """The chunks of a file with the traces of all shards."""

    def __init__(self, files: Sequence[Download], chunks: Iterator[bytes]) -> None:
        """Takes the files of the shards, and the chunks that are made from them."""
        self._files = files
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        """Returns the chunks."""
        return self

    def __next__(self) -> bytes:
        """Returns the next chunk."""
        return next(self._chunks)

    @property
    def progress(self) -> tuple[int, int, int]:
        """See `Download.progress`: sums over all shards."""
        selected, read, total = (sum(numbers) for numbers in zip(*(file.progress for file in self._files), strict=True))
        return selected, read, total


def _stats_of(shard: Shard) -> dict[str, Any]:
    """Returns the statistics of a shard, or of its follower, because the shard will acknowledge soon."""
    try:
        own: dict[str, Any] = msgspec.json.decode(shard.stats())
    except ShardLostError:
        if not isinstance(shard, GuardedShard) or shard.follower is None:
            raise
        followed: dict[str, Any] = msgspec.json.decode(shard.follower.stats())
        return followed | {"is_acknowledging": True, "as_of": None, "lag_seconds": None}
    return own


def _joined(files: Iterable[Iterable[bytes]], form: str) -> Iterator[bytes]:
    """Yields one file with the batches of several Arrow streams."""
    joiner = SpanFileJoiner(form)
    for file in files:
        for chunk in file:
            if written := joiner.add(chunk):
                yield written
        joiner.end_stream()
    if written := joiner.finish():
        yield written


def added_up(stats: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Returns statistics or reports of all shards as one: sums of counts, and the first error.

    For followed shards, results are complete through the oldest time of all shards.
    """

    def combined(name: str) -> object:
        values = [own[name] for own in stats]
        if (together := _TOGETHER.get(name)) is not None:
            return None if None in values else together(values)
        match values[0]:
            case bool():
                return any(values)
            case int():
                return sum(values)
            case list():
                return [item for value in values for item in value]
            case _:
                return next((value for value in values if value is not None), None)

    return {name: combined(name) for name in stats[0]}
