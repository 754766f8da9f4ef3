"""A trace store that is opened in the background, after the service has started to listen."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, TypeVar

from spanwise._engine import Progress
from spanwise.cluster.store import ShardedStore
from spanwise.errors import PartialWriteError, SpanwiseError, StoreClosedError, UnavailableError
from spanwise.traces.store_options import follow_store, not_ready, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise._engine import Filter, IngestReport, LogIngestReport
    from spanwise.cluster.failover.guarded import Counters
    from spanwise.settings import Settings
    from spanwise.store_protocol import Store

Result = TypeVar("Result")
PROGRESS_SECONDS = 2.0
"""How often the log reports the progress of opening a store."""
_log = logging.getLogger(__name__)


class LazyStore:
    """A trace store that is not open yet, open, or closed. It is opened at most once."""

    def __init__(self, source: str | Store, settings: Settings) -> None:
        """Records the location of the store without accessing it.

        Args:
            source: the store's path or URL, or an open store, which its owner closes.
            settings: the options to open it with.
        """
        self._url = source if isinstance(source, str) else None
        self._store = None if isinstance(source, str) else source
        self._opening: asyncio.Task[None] | None = None
        self._closed = False
        self._settings = settings

    @property
    def is_open(self) -> bool:
        """Returns True if the store is open."""
        return self._store is not None and not self._closed

    def as_of(self) -> float | None:
        """Returns the time through which results are complete, in seconds since 1970.

        Results of a writer include everything it has acknowledged. None if a reader has never read its store.
        """
        if not self._settings.reader or self._store is None:
            return time.time()
        as_of = self._store.as_of
        return None if as_of is None else as_of / 1e6

    async def not_ready(self) -> str | None:
        """Returns which function of the open store is not available, and why; None if all are."""
        assert self._store is not None  # noqa: S101  # it is open
        return await asyncio.to_thread(not_ready, self._store, self._url, self._settings)

    async def open(self) -> None:
        """Opens the store and replays its write-ahead log; a no-op when it is open.

        Raises:
            ConfigurationError: the address or an option is invalid.
            StoreError: another process holds the store, it is damaged, or the storage failed.
        """
        if self._store is None and not self._closed:
            await asyncio.shield(self._begin_to_open())

    async def shut(self) -> None:
        """Rejects new requests, and waits for an `open` in progress."""
        self._closed = True
        if self._opening is not None:
            await asyncio.wait([self._opening])

    def close(self) -> None:
        """Closes the store, unless it was passed in open. No request may be using it."""
        if self._url is not None and self._store is not None:
            self._store.close()

    def opened(self) -> Store:
        """Returns the open store. Starts to open it if that has not started, or has failed.

        Raises:
            StoreClosedError: the service is shutting down.
            UnavailableError: the store is not open yet.
        """
        if self._closed:
            raise StoreClosedError("the service is shutting down")
        if self._store is None:
            if self._opening is None or self._opening.done():
                self._begin_to_open().add_done_callback(_log_failure)
            raise UnavailableError("the trace store is being opened")
        return self._store

    def ingest(self, body: bytes, content_type: str, content_encoding: str | None) -> IngestReport:
        """Returns the report on one OTLP request. Blocks: call it in a thread, after `opened`.

        Raises:
            SpanwiseError: see `Traces.ingest`.
        """
        return self._write(lambda store: store.ingest(body, content_type, content_encoding))

    def ingest_logs(self, body: bytes, content_type: str, content_encoding: str | None) -> LogIngestReport:
        """Returns the report on one OTLP request with log records. Blocks: call it in a thread, after `opened`.

        Raises:
            SpanwiseError: see `Traces.ingest`.
        """
        return self._write(lambda store: store.ingest_logs(body, content_type, content_encoding))

    def delete(self, compiled: Filter) -> int:
        """Returns the number of deleted traces. Blocks: call it in a thread, after `opened`.

        Raises:
            UnavailableError: no trace was deleted.
        """
        return self._write(lambda store: store.delete(compiled))

    def _write(self, write: Callable[[Store], Result]) -> Result:
        assert self._store is not None  # noqa: S101  # callers use `opened` first
        try:
            return write(self._store)
        except PartialWriteError as error:
            _log.warning("a part of the trace store was not changed: %s", error)
            raise
        except UnavailableError as error:
            # The engine's message may name files, so it is logged and not sent to the client.
            _log.warning("the trace store was not changed: %s", error)
            raise UnavailableError("the trace store rejects writes; nothing was stored") from error

    def stats(self) -> bytes:
        """Returns the store's statistics as a JSON object; empty if it is closed or does not respond. Blocks."""
        if self._store is None or self._closed:
            return b"{}"
        try:
            return self._store.stats()
        except UnavailableError:
            return b"{}"

    def stats_of_shards(self) -> dict[str, dict[str, Any] | None]:
        """Returns the statistics of each shard by its prefix; None for a shard that does not respond. Blocks.

        Empty if the store is not sharded, or not open.
        """
        if not isinstance(self._store, ShardedStore) or self._closed:
            return {}
        try:
            return self._store.stats_of_shards()
        except StoreClosedError:
            return {}

    def counters_of_shards(self) -> dict[str, Counters]:
        """Returns the counters of each shard in another process, by its prefix; empty without such shards."""
        return self._store.counters_of_shards() if isinstance(self._store, ShardedStore) else {}

    def _begin_to_open(self) -> asyncio.Task[None]:
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open())
        return self._opening

    async def _open(self) -> None:
        assert self._url is not None  # noqa: S101  # a store that was passed in is open
        started, progress = time.monotonic(), Progress()
        opening = asyncio.create_task(asyncio.to_thread(_opened, self._url, self._settings, progress))
        while not (await asyncio.wait([opening], timeout=PROGRESS_SECONDS))[0]:
            _log.info("opening the trace store `%s`: %s", self._url, _how_far(progress, time.monotonic() - started))
        self._store = opening.result()


def _opened(url: str, settings: Settings, progress: Progress) -> Store:
    return follow_store(url, settings) if settings.reader else open_store(url, settings, progress=progress)


def _how_far(progress: Progress, elapsed: float) -> str:
    """Returns the progress of opening a store, the rate, and the remaining time if known."""
    done, total = progress.done_of_total
    if not done:
        return f"{elapsed:.0f} s so far"
    left = elapsed * max(total - done, 0) / done
    return f"{min(done, total):,} of {total:,} objects, {done / elapsed:.1f}/s, {left:.0f} s left"


def _log_failure(opening: asyncio.Task[None]) -> None:
    error = None if opening.cancelled() else opening.exception()
    if isinstance(error, SpanwiseError):
        _log.error("the trace store cannot be opened: %s", error)
    elif error is not None:
        _log.error("the trace store cannot be opened", exc_info=error)
