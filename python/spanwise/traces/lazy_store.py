"""One store that opens in its own time."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, TypeVar

from spanwise.errors import SpanwiseError, StoreClosedError, UnavailableError
from spanwise.traces.store_options import is_acknowledging, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise._engine import Filter, IngestReport, TraceStore
    from spanwise.settings import Settings

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


class OpeningStore:
    """A trace store, seen from the event loop: not open yet, open, or closed. It is opened once."""

    def __init__(self, source: str | TraceStore, settings: Settings) -> None:
        """Prepares the way to a store, without touching it.

        Args:
            source: the store's path or URL, or a store that is open already; that one its owner closes.
            settings: how it is opened.
        """
        self._url = source if isinstance(source, str) else None
        self._store = None if isinstance(source, str) else source
        self._opening: asyncio.Task[None] | None = None
        self._closed = False
        self._settings = settings

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

    async def refuse_more(self) -> None:
        """Refuses whoever comes now; returns when the store is not being opened any more."""
        self._closed = True
        if self._opening is not None:
            await asyncio.wait([self._opening])

    def close(self) -> None:
        """Closes the store, unless it was handed in open. Nobody may be using it."""
        if self._url is not None and self._store is not None:
            self._store.close()

    def opened(self) -> TraceStore:
        """Returns the open store. If nobody opens it yet, begins to.

        Raises:
            StoreClosedError: the service is shutting down.
            UnavailableError: it is not open yet.
        """
        if self._closed:
            raise StoreClosedError("the service is shutting down")
        if self._store is None:
            if self._opening is None or self._opening.done():
                self._begin_to_open().add_done_callback(_log_failure)
            raise UnavailableError("the trace store is being opened")
        return self._store

    def ingest(self, body: bytes, content_type: str, content_encoding: str | None) -> IngestReport:
        """Returns what became of one export request. Blocks; for a thread, after `opened`.

        Raises:
            SpanwiseError: see `TraceStore.ingest`.
        """
        return self._changed(lambda store: store.ingest(body, content_type, content_encoding))

    def delete(self, compiled: Filter, *, dry_run: bool) -> int:
        """Returns how many traces were deleted, or would be. Blocks; for a thread, after `opened`.

        Raises:
            SpanwiseError: see `TraceStore.delete`.
        """
        return self._changed(lambda store: store.delete(compiled, dry_run))

    def _changed(self, change: Callable[[TraceStore], Result]) -> Result:
        assert self._store is not None  # noqa: S101  # `opened` came before
        try:
            return change(self._store)
        except UnavailableError as error:
            # The engine's words may name files; they are for the log.
            _log.warning("the trace store was not changed: %s", error)
            raise UnavailableError("the trace store takes in nothing now; nothing was stored") from error

    def stats(self) -> bytes:
        """Returns the store's account of itself as JSON; `{}` while it is not open. Blocks; for a thread."""
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
        assert self._url is not None  # noqa: S101  # a store that was handed in is open
        self._store = await asyncio.to_thread(open_store, self._url, self._settings)


def _log_failure(opening: asyncio.Task[None]) -> None:
    error = None if opening.cancelled() else opening.exception()
    if isinstance(error, SpanwiseError):
        _log.error("the trace store cannot be opened: %s", error)
    elif error is not None:
        _log.error("the trace store cannot be opened", exc_info=error)
