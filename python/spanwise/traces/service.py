"""The traces of one service: its stores, and the two pools that lead to them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from spanwise import _engine
from spanwise._engine import TraceStore
from spanwise.errors import ConfigurationError, NotFoundError
from spanwise.metrics import STORE_GAUGES, Counter, Gauge
from spanwise.traces.download import Exporting
from spanwise.traces.lazy_store import OpeningStore
from spanwise.traces.pools import Pool
from spanwise.traces.search_pool import Searching
from spanwise.traces.view import View

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise._engine import IngestReport
    from spanwise.metrics import Family
    from spanwise.settings import Settings


class Traces:
    """Receives, finds and shows traces, from the event loop's side."""

    def __init__(self, sources: Mapping[str, str | TraceStore], settings: Settings) -> None:
        """Prepares the way to the stores, without touching them.

        Args:
            sources: by id, a store's path or URL, or a store that is open already; that one its owner closes.
            settings: how many threads, how many may wait, how long.

        Raises:
            ConfigurationError: there is no store, or one without an id.
        """
        if not sources or not all(sources):
            raise ConfigurationError("expected one or more trace stores, each with an id")
        self._stores = {db_id: OpeningStore(source, settings) for db_id, source in sources.items()}
        self._first = next(iter(self._stores))
        _engine.limit_pages(settings.page_buffer_bytes)
        self._searching = Searching(settings)
        self._exporting = Exporting()
        self._ingests = Pool("ingest", settings.ingest_threads, settings.ingest_queue_size)
        self._spans = Counter("spanwise_ingest_spans_total", "Spans received by OTLP.", "outcome")
        self._export_bytes = Counter("spanwise_ingest_bytes_total", "Bytes of stored OTLP requests, as sent.")

    @property
    def ids(self) -> tuple[str, ...]:
        """Returns the ids of the stores, the one that is meant without an id first."""
        return tuple(self._stores)

    @property
    def is_ready(self) -> bool:
        """Returns whether every store is open and acknowledges what it is sent."""
        return all(store.is_ready for store in self._stores.values())

    async def open(self) -> None:
        """Opens the stores, replay included; a no-op when they are open.

        Raises:
            ConfigurationError: an address or an option is not usable.
            StoreError: another process holds a store, it is damaged, or the storage below failed.
        """
        await asyncio.gather(*(store.open() for store in self._stores.values()))

    async def close(self) -> None:
        """Cancels the searches, waits for the exports, then closes the stores that were not handed in open."""
        leaving = [store.refuse_more() for store in self._stores.values()]
        self._searching.cancel()
        await asyncio.gather(*leaving)
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._searching.pool.close()
        self._exporting.pool.close()
        self._ingests.close()
        for store in self._stores.values():
            store.close()

    def view(self, db_id: str | None, owner: str | None) -> View:
        """Returns one store as one caller sees it.

        Args:
            db_id: the store's id; the first store if absent or empty.
            owner: the user whose traces are shown; None for everyone's.

        Raises:
            NotFoundError: no store has that id.
        """
        return View(self._store(db_id), self._searching, self._ingests, self._exporting, owner)

    async def ingest(
        self, body: bytes, content_type: str, content_encoding: str | None, db_id: str | None
    ) -> IngestReport:
        """Returns what became of one export request, once its spans are durable.

        Raises:
            NotFoundError: no store has that id.
            DecodeError: the body is not what its content type says.
            UnsupportedMediaTypeError: a content type or encoding that is not served.
            PayloadTooLargeError: the body unpacks to more than its limit.
            UnavailableError: nothing was stored; the same request may succeed later.
        """
        store = self._store(db_id)
        store.opened()
        report = await self._ingests.run(lambda: store.ingest(body, content_type, content_encoding))
        self._spans.add("accepted", by=report.accepted_spans)
        self._spans.add("rejected", by=report.rejected_spans)
        self._export_bytes.add(by=len(body))
        return report

    async def measure(self) -> list[Family]:
        """Returns what was counted, and what can be read now of pools and stores."""
        pools = {"search": self._searching.pool, "export": self._exporting.pool, "ingest": self._ingests}
        stats = await asyncio.to_thread(self._stats)
        return [
            self._spans,
            self._export_bytes,
            self._searching.seconds,
            Gauge("spanwise_pool_tasks", "Running and queued tasks.", "pool", {n: p.taken for n, p in pools.items()}),
            Gauge("spanwise_pool_capacity", "Task limit.", "pool", {n: p.places for n, p in pools.items()}),
            *(
                Gauge(
                    name,
                    help_text,
                    "db_id",
                    {db_id: numbers[member] for db_id, numbers in stats.items() if member in numbers},
                )
                for member, (name, help_text) in STORE_GAUGES.items()
            ),
        ]

    def _stats(self) -> dict[str, dict[str, float]]:
        return {db_id: _numbers(msgspec.json.decode(store.stats())) for db_id, store in self._stores.items()}

    def _store(self, db_id: str | None) -> OpeningStore:
        store = self._stores.get(db_id or self._first)
        if store is None:
            raise NotFoundError(f"No database found with id '{db_id}'")
        return store


def _numbers(stats: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in stats.items() if isinstance(value, int | float)}


def filter_schema() -> bytes:
    """Returns the finished JSON that says what a filter may be made of."""
    return _engine.filter_schema()


def otlp_status(message: str, content_type: str, status: int) -> bytes:
    """Returns a `google.rpc.Status` in the encoding of `content_type`, as OTLP answers errors."""
    return _engine.otlp_status(message, content_type, status)


def check_store(url: str) -> bytes:
    """Returns the report of a whole check of a store, as finished JSON.

    Raises:
        StoreError: the store is damaged or cannot be read.
    """
    return TraceStore.check(url)
