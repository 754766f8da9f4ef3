"""A shard in this process."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from spanwise._engine import CancellationToken, Filter, PinnedSearch, ingest_part
from spanwise.errors import PinLostError, StaleLayoutError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise._engine import TraceStore
    from spanwise.traces.shards.shard import Ask

MAX_PINS = 256
"""Searches whose state is kept at once."""


class _Pin(Struct, frozen=True):
    search: PinnedSearch
    cancel: CancellationToken
    expires_at: float


class LocalShard:
    """A trace store of this process as a shard. Implements `Shard`."""

    def __init__(self, store: TraceStore, layout: int) -> None:
        """Takes an open store.

        Args:
            store: the store, which `close` closes.
            layout: the number of the layout that says which traces it has.
        """
        self._store = store
        self._layout = layout
        self._pins: dict[int, _Pin] = {}
        self._lock = threading.Lock()

    def answer(self, ask: Ask, question: bytes, *, is_first: bool) -> bytes:
        """See `Shard.answer`."""
        self._expect(ask.layout)
        pin = self._pin(ask) if is_first else self._pinned(ask.search)
        return pin.search.answer(question, pin.cancel)

    def end(self, search: int) -> None:
        """See `Shard.end`."""
        with self._lock:
            pin = self._pins.pop(search, None)
        if pin is not None:
            pin.cancel.cancel()

    def ingest(self, layout: int, received: int, part: bytes) -> tuple[int, int, str]:
        """See `Shard.ingest`."""
        self._expect(layout)
        return ingest_part(self._store, received, part)

    def delete(self, ask: Ask, *, dry_run: bool) -> int:
        """See `Shard.delete`."""
        self._expect(ask.layout)
        return self._store.delete(Filter.of_query(ask.query), dry_run)

    def export(self, ask: Ask, form: str) -> Iterator[bytes]:
        """See `Shard.export`."""
        self._expect(ask.layout)
        return self._store.export(Filter.of_query(ask.query), form)

    def stats(self) -> bytes:
        """See `Shard.stats`."""
        return self._store.stats()

    def flush(self) -> None:
        """See `Shard.flush`."""
        self._store.flush()

    def compact(self, *, purge: bool) -> None:
        """See `Shard.compact`."""
        self._store.compact(purge)

    def close(self) -> None:
        """See `Shard.close`."""
        self._store.close()

    def _expect(self, layout: int) -> None:
        if layout != self._layout:
            raise StaleLayoutError(f"the shard is of layout {self._layout}, asked by layout {layout}")

    def _pin(self, ask: Ask) -> _Pin:
        now = time.monotonic()
        pin = _Pin(PinnedSearch(self._store, ask.query), CancellationToken(), now + ask.seconds)
        with self._lock:
            # Whoever began these has given up.
            for search in [search for search, own in self._pins.items() if own.expires_at < now]:
                self._pins.pop(search).cancel.cancel()
            if len(self._pins) >= MAX_PINS:
                raise UnavailableError(f"more than {MAX_PINS} searches of a shard at once")
            self._pins[ask.search] = pin
        return pin

    def _pinned(self, search: int) -> _Pin:
        with self._lock:
            pin = self._pins.get(search)
        if pin is None:
            raise PinLostError("a shard does not keep the state of the search any more")
        return pin
