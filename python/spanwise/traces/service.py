"""The trace stores of one service, and the thread pools that work on them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from spanwise._engine import drop_metrics, set_page_memory_limit
from spanwise.cluster.metrics import shard_counters, shard_gauges
from spanwise.engine_globals import set_engine_globals
from spanwise.errors import ConfigurationError, SpanwiseError
from spanwise.fair_budget import FairBudget, current_caller
from spanwise.metrics import STORE_GAUGES, Counter, Gauge
from spanwise.pools.pool import Pool
from spanwise.traces.download import Downloads
from spanwise.traces.export_log import ExportLog, name_and_size
from spanwise.traces.lazy_store import LazyStore
from spanwise.traces.search.pool import SearchPool
from spanwise.traces.tail import Tails
from spanwise.traces.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise._engine import IngestReport, LogIngestReport, MetricDropReport
    from spanwise.metrics import Family
    from spanwise.settings import Settings
    from spanwise.store_protocol import Store

DELETION_THREADS = 2
"""Concurrent deletions. More would only wait, because the store executes one at a time."""
MAX_WAITING_DELETIONS = 64
"""Deletions that may wait for a thread."""


class Traces:
    """Ingests, searches and shows traces. Its methods are called on the event loop and never block it.

    Attributes:
        exports: logs events of exports.
    """

    def __init__(self, sources: Mapping[str, str | Store], settings: Settings) -> None:
        """Creates the pools and records the locations of the stores without accessing them.

        Args:
            sources: by id, the path or URL of a store, or an open store, which its owner closes.
            settings: thread counts, queue lengths and deadlines.

        Raises:
            ConfigurationError: no store is given, or one has no id.
        """
        if not sources or not all(sources):
            raise ConfigurationError("expected one or more trace stores, each with an id")
        self._stores = {db_id: LazyStore(source, settings) for db_id, source in sources.items()}
        self._first = next(iter(self._stores))
        set_page_memory_limit(settings.page_buffer_bytes)
        set_engine_globals(settings)
        self.exports = ExportLog()
        self._searches = SearchPool(settings)
        counting_bytes = settings.counting_buffer_bytes
        self._counting = FairBudget(counting_bytes, "too many counts at once", whole=counting_bytes)
        self._downloads = Downloads()
        self._tails = Tails()
        self._writes = Pool("ingest", settings.ingest_threads, settings.ingest_queue_size)
        self._deletions = Pool("deletion", DELETION_THREADS, MAX_WAITING_DELETIONS)
        self._spans = Counter("spanwise_ingest_spans_total", "Spans received by OTLP.", "outcome")
        self._log_records = Counter("spanwise_ingest_log_records_total", "Log records received by OTLP.", "outcome")
        self._metrics = Counter("spanwise_ingest_metrics_total", "Metrics received by OTLP.", "outcome")
        self._ingested_bytes = Counter("spanwise_ingest_bytes_total", "Bytes of stored OTLP requests, as sent.")

    @property
    def ids(self) -> tuple[str, ...]:
        """Returns the ids of the stores, the default one first."""
        return tuple(self._stores)

    async def not_ready(self) -> str | None:
        """Returns which store or function is not available, and why.

        None if every store is open, responds and acknowledges.
        """
        if not all(store.is_open for store in self._stores.values()):
            return "search and ingest: a store is not open"
        for store in self._stores.values():
            if (reason := await store.not_ready()) is not None:
                return reason
        return None

    def as_of(self) -> float | None:
        """Returns the time through which every store is complete, in seconds since 1970; None if one was never read."""
        moments = [store.as_of() for store in self._stores.values()]
        known = [moment for moment in moments if moment is not None]
        return min(known) if len(known) == len(moments) else None

    async def open(self) -> None:
        """Opens the stores and replays their write-ahead logs; a no-op when they are open.

        Raises:
            ConfigurationError: an address or an option is invalid.
            StoreError: another process holds a store, it is damaged, or the storage failed.
        """
        await asyncio.gather(*(store.open() for store in self._stores.values()))

    def drain(self) -> None:
        """Ends the tails and rejects new ones."""
        self._tails.drain()

    async def close(self) -> None:
        """Cancels searches, waits for ingests in progress, then closes the stores that were not passed in open."""
        self.drain()
        shutting = [store.shut() for store in self._stores.values()]
        self._searches.cancel()
        await asyncio.gather(*shutting)
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._searches.pool.close()
        self._downloads.pool.close()
        self._tails.pool.close()
        self._writes.close()
        self._deletions.close()
        for store in self._stores.values():
            store.close()

    def view(self, store_id: str | None, owner: str | None) -> View:
        """Returns one store, restricted to the traces that one caller may see.

        Args:
            store_id: one of `ids`; None for the first store.
            owner: the user whose traces are visible; None for everyone's.
        """
        store = self._store(store_id)
        pools = (self._searches, self._counting, self._deletions, self._downloads, self._tails)
        return View(store, *pools, owner, current_caller.get())

    async def ingest(
        self, body: bytes, content_type: str, content_encoding: str | None, store_id: str | None
    ) -> IngestReport:
        """Stores the spans of one OTLP request and returns the report once they are durable.

        Args:
            body: the request body, as received.
            content_type: its media type, protobuf or JSON.
            content_encoding: its compression, if any.
            store_id: one of `ids`; None for the first store.

        Raises:
            DecodeError: the body does not match its content type.
            UnsupportedMediaTypeError: the content type or encoding is not supported.
            PayloadTooLargeError: the decompressed body exceeds its size limit.
            UnavailableError: no span was stored; the same request may succeed later.
        """
        store = self._store(store_id)
        opened = store.opened()
        since = datetime.now(UTC)
        report = await self._writes.run(lambda: store.ingest(body, content_type, content_encoding))
        if self.exports.received(report):
            self.exports.show_first(await self._shown(opened, since))
        self._spans.add("accepted", by=report.accepted_spans)
        self._spans.add("rejected", by=report.rejected_spans)
        self._ingested_bytes.add(by=len(body))
        return report

    async def _shown(self, store: Store, since: datetime) -> str:
        """Returns the name and size of a trace received since then."""
        try:
            return await self._searches.run(lambda cancel: name_and_size(store, since, cancel))
        except SpanwiseError as error:  # the trace is stored despite this error
            return f"it cannot be shown, {error}"

    async def ingest_logs(
        self, body: bytes, content_type: str, content_encoding: str | None, store_id: str | None
    ) -> LogIngestReport:
        """Stores the log records of one OTLP request that carry content of spans, and returns once they are durable.

        Args:
            body: the request body, as received.
            content_type: its media type, protobuf or JSON.
            content_encoding: its compression, if any.
            store_id: one of `ids`; None for the first store.

        Raises:
            SpanwiseError: as `ingest`.
        """
        store = self._store(store_id)
        store.opened()
        report = await self._writes.run(lambda: store.ingest_logs(body, content_type, content_encoding))
        self._log_records.add("kept", by=report.kept_records)
        self._log_records.add("dropped", by=report.dropped_records)
        self._log_records.add("rejected", by=report.rejected_records)
        if report.kept_records:
            self._ingested_bytes.add(by=len(body))
        if report.dropped_records:
            self.exports.dropped("log records that carry no content of a span")
        return report

    async def drop_metrics(self, body: bytes, content_type: str, content_encoding: str | None) -> MetricDropReport:
        """Counts the metrics of one OTLP request, and stores none of them.

        Args:
            body: the request body, as received.
            content_type: its media type, protobuf or JSON.
            content_encoding: its compression, if any.

        Raises:
            DecodeError: the body does not match its content type.
            UnsupportedMediaTypeError: the content type or encoding is not supported.
            PayloadTooLargeError: the decompressed body exceeds its size limit.
            UnavailableError: too many requests wait; the same request may succeed later.
        """
        report = await self._writes.run(lambda: drop_metrics(body, content_type, content_encoding))
        self._metrics.add("dropped", by=report.dropped_metrics)
        if report.dropped_metrics:
            self.exports.dropped("metrics")
        return report

    async def measure(self) -> list[Family]:
        """Returns the metrics: counters, and gauges of the pools and stores."""
        pools = {
            "search": self._searches.pool,
            "export": self._downloads.pool,
            "tail": self._tails.pool,
            "ingest": self._writes,
            "deletion": self._deletions,
        }
        admitted = {name: pool.admitted for name, pool in pools.items()}
        capacity = {name: pool.capacity for name, pool in pools.items()}
        stats = await asyncio.to_thread(self._stats)
        return [
            self._spans,
            self._log_records,
            self._metrics,
            self._ingested_bytes,
            self._searches.seconds,
            Gauge.single("spanwise_tails", "Open tails.", self._tails.open_count),
            Gauge("spanwise_pool_tasks", "Running and queued tasks.", "pool", admitted),
            Gauge("spanwise_pool_capacity", "Task limit.", "pool", capacity),
            *(
                Gauge(
                    name,
                    help_text,
                    "db_id",
                    {db_id: numbers[member] for db_id, numbers in stats.items() if member in numbers},
                )
                for member, (name, help_text) in STORE_GAUGES.items()
            ),
            *shard_gauges(await asyncio.to_thread(self._stats_of_shards)),
            *shard_counters(
                {
                    (db_id, prefix): counters
                    for db_id, store in self._stores.items()
                    for prefix, counters in store.counters_of_shards().items()
                }
            ),
        ]

    def _stats(self) -> dict[str, dict[str, float]]:
        return {db_id: _numbers(msgspec.json.decode(store.stats())) for db_id, store in self._stores.items()}

    def _stats_of_shards(self) -> dict[tuple[str, ...], dict[str, float] | None]:
        return {
            (db_id, prefix): None if stats is None else _numbers(stats)
            for db_id, store in self._stores.items()
            for prefix, stats in store.stats_of_shards().items()
        }

    def _store(self, store_id: str | None) -> LazyStore:
        return self._stores[self._first if store_id is None else store_id]


def _numbers(stats: dict[str, Any]) -> dict[str, float]:
    """Returns the numbers in a store's statistics. An error counts as 1, its absence as 0."""
    faults = {name: float(value is not None) for name, value in stats.items() if name.endswith("_fault")}
    return faults | {name: float(value) for name, value in stats.items() if isinstance(value, int | float)}
