"""The traces of one service: a store that opens in its own time, and the two pools that lead to it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeVar

from spanwise import _engine
from spanwise._engine import Cancel, Filter, TraceStore
from spanwise.errors import (
    NotFoundError,
    SpanwiseError,
    StoreClosedError,
    UnavailableError,
)
from spanwise.traces.opened import is_acknowledging, open_store
from spanwise.traces.pools import Pool
from spanwise.traces.search import search_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise._engine import IngestReport
    from spanwise.models import SearchRequest
    from spanwise.settings import Settings

DATABASE_ID = "default"
"""The name of the one store, as `db_id` gives it."""

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


class Traces:
    """Receives, finds and shows traces, from the event loop's side. One store, opened once."""

    def __init__(self, source: str | TraceStore, settings: Settings) -> None:
        """Prepares the way to a store, without touching it.

        Args:
            source: the store's path or URL, or a store that is open already; that one its owner closes.
            settings: how many threads, how many may wait, how long.
        """
        self._url = source if isinstance(source, str) else None
        self._store = None if isinstance(source, str) else source
        self._opening: asyncio.Task[None] | None = None
        self._closed = False
        self._settings = settings
        self._cancels: set[Cancel] = set()
        self._deadline_seconds = settings.search_deadline_seconds
        self._searches = Pool("search", settings.search_threads, settings.search_waiting)
        self._ingests = Pool("ingest", settings.ingest_threads, settings.ingest_waiting)

    @property
    def is_ready(self) -> bool:
        """Returns whether the store is open and acknowledges what it is sent."""
        return self._store is not None and not self._closed and is_acknowledging(self._store)

    async def open(self) -> None:
        """Opens the store, replay included; a no-op when it is open.

        Raises:
            ConfigurationError: the address or an option is not usable.
            StoreError: another process holds the store, it is damaged, or the storage below failed.
        """
        if self._store is None and not self._closed:
            await asyncio.shield(self._begin_to_open())

    async def close(self) -> None:
        """Cancels the searches, waits for the exports, then closes the store, unless it was handed in open."""
        self._closed = True
        for cancel in self._cancels:
            cancel.cancel()
        if self._opening is not None:
            await asyncio.wait([self._opening])
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._searches.close()
        self._ingests.close()
        if self._url is not None and self._store is not None:
            self._store.close()

    async def search(self, request: SearchRequest) -> bytes:
        """Returns the finished JSON body that answers `request`. A cancelled caller cancels the search.

        Raises:
            SpanwiseError: see `search_page`.
            UnavailableError: too many searches at once, no answer before the deadline, or no store yet.
        """
        store, cancel = self._opened(), Cancel()
        self._cancels.add(cancel)
        try:
            return await self._find(lambda: search_page(store, request, cancel))
        finally:
            cancel.cancel()
            self._cancels.discard(cancel)

    async def trace(self, trace_id: str) -> bytes:
        """Returns the finished JSON of one trace with its span tree.

        Raises:
            NotFoundError: no such trace.
        """
        found = await self._read(lambda store, everything: store.trace(trace_id, everything))
        if found is None:
            raise NotFoundError("Trace not found")
        return found

    async def span(self, trace_id: str, span_id: str) -> bytes:
        """Returns the finished JSON of one span, without its children.

        Raises:
            NotFoundError: no such span in that trace.
        """
        found = await self._read(lambda store, everything: store.span(trace_id, span_id, everything))
        if found is None:
            raise NotFoundError("Span not found")
        return found

    async def ingest(self, body: bytes, content_type: str, content_encoding: str | None) -> IngestReport:
        """Returns what became of one export request, once its spans are durable.

        Raises:
            DecodeError: the body is not what its content type says.
            UnsupportedMediaTypeError: a content type or encoding that is not served.
            PayloadTooLargeError: the body unpacks to more than its limit.
            UnavailableError: nothing was stored; the same request may succeed later.
        """
        store = self._opened()
        return await self._ingests.run(lambda: self._ingest(store, body, content_type, content_encoding))

    def _ingest(self, store: TraceStore, body: bytes, content_type: str, content_encoding: str | None) -> IngestReport:
        try:
            return store.ingest(body, content_type, content_encoding)
        except UnavailableError as error:
            # The engine's words may name files; they are for the log.
            _log.warning("an export was not stored: %s", error)
            raise UnavailableError("the trace store takes in nothing now; nothing was stored") from error

    async def _read(self, read: Callable[[TraceStore, Filter], bytes | None]) -> bytes | None:
        store = self._opened()
        return await self._find(lambda: read(store, Filter.compile(b"null")))

    async def _find(self, work: Callable[[], Result]) -> Result:
        try:
            async with asyncio.timeout(self._deadline_seconds):
                return await self._searches.run(work)
        except TimeoutError as error:
            raise UnavailableError(f"the search took longer than {self._deadline_seconds:g} s") from error

    def _opened(self) -> TraceStore:
        if self._closed:
            raise StoreClosedError("the service is shutting down")
        if self._store is None:
            if self._opening is None or self._opening.done():
                self._begin_to_open().add_done_callback(_log_failure)
            raise UnavailableError("the trace store is being opened")
        return self._store

    def _begin_to_open(self) -> asyncio.Task[None]:
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open())
        return self._opening

    async def _open(self) -> None:
        assert self._url is not None  # noqa: S101  # a store that was handed in is open
        self._store = await asyncio.to_thread(open_store, self._url, self._settings)


def _log_failure(opening: asyncio.Task[None]) -> None:
    error = None if opening.cancelled() else opening.exception()
    if isinstance(error, SpanwiseError):
        _log.error("the trace store cannot be opened: %s", error)
    elif error is not None:
        _log.error("the trace store cannot be opened", exc_info=error)


def check_database(db_id: str | None) -> None:
    """Accepts the one store's id, or none.

    Raises:
        NotFoundError: another id.
    """
    if db_id and db_id != DATABASE_ID:
        raise NotFoundError(f"No database found with id '{db_id}'")


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
