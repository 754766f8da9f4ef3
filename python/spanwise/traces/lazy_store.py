"""A trace store that is opened in the background, after the service has started to listen."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeVar

from spanwise.errors import PartialWriteError, SpanwiseError, StoreClosedError, UnavailableError
from spanwise.traces.store_options import not_ready, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise._engine import Filter, IngestReport, LogIngestReport
    from spanwise.settings import Settings
    from spanwise.traces.port import Store

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


class LazyStore:
    """A trace store that is not open yet, open, or closed. It is opened at most once."""

    def __init__(self, source: str | Store, settings: Settings) -> None:
        """Records where the store is, without accessing it.

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
        """Returns whether the store is open."""
        return self._store is not None and not self._closed

    async def not_ready(self) -> str | None:
        """Returns what the store, which is open, does not serve now, and why; None if it serves everything."""
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
        """Rejects new requests, and waits for an `open` in progress to end."""
        self._closed = True
        if self._opening is not None:
            await asyncio.wait([self._opening])

    def close(self) -> None:
        """Closes the store, unless it was passed in open. No request may be using it."""
        if self._url is not None and self._store is not None:
            self._store.close()

    def opened(self) -> Store:
        """Returns the open store. Starts to open it if that has not begun, or has failed.

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

    def delete(self, compiled: Filter, *, dry_run: bool) -> int:
        """Returns how many traces were deleted, or would be. Blocks: call it in a thread, after `opened`.

        Raises:
            UnavailableError: nothing was deleted.
        """
        return self._write(lambda store: store.delete(compiled, dry_run))

    def _write(self, write: Callable[[Store], Result]) -> Result:
        assert self._store is not None  # noqa: S101  # callers use `opened` first
        try:
            return write(self._store)
        except PartialWriteError as error:
            _log.warning("a part of the trace store was not changed: %s", error)
            raise
        except UnavailableError as error:
            # The engine's message may name files, so it goes to the log and not to the client.
            _log.warning("the trace store was not changed: %s", error)
            raise UnavailableError("the trace store accepts no writes now; nothing was stored") from error

    def stats(self) -> bytes:
        """Returns the store's statistics as a JSON object, empty unless it is open. Blocks: call it in a thread."""
        if self._store is None or self._closed:
            return b"{}"
        try:
            return self._store.stats()
        except StoreClosedError:
            return b"{}"

    def _begin_to_open(self) -> asyncio.Task[None]:
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open())
        return self._opening

    async def _open(self) -> None:
        assert self._url is not None  # noqa: S101  # a store that was passed in is open
        self._store = await asyncio.to_thread(open_store, self._url, self._settings)


def _log_failure(opening: asyncio.Task[None]) -> None:
    error = None if opening.cancelled() else opening.exception()
    if isinstance(error, SpanwiseError):
        _log.error("the trace store cannot be opened: %s", error)
    elif error is not None:
        _log.error("the trace store cannot be opened", exc_info=error)
