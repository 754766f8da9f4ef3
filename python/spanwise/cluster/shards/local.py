"""A shard in this process."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from msgspec import Struct

from spanwise._engine import CancellationToken, Filter, PinnedLeaf, ingest_part
from spanwise.errors import CancelledError, PinLostError, StaleLayoutError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise._engine import Tail, TraceStore
    from spanwise.cluster.shards.shard import Ask, Call, Event, Outcome, Part, Run, Waiting
    from spanwise.store_protocol import Download

MAX_PINS = 256
"""Searches whose state is kept at the same time."""
_MAX_ENDED = 4096
"""Ended searches that are remembered, because an end may arrive before a thread handles the first request."""


class _Pin(Struct, frozen=True):
    leaf: PinnedLeaf
    cancel: CancellationToken
    expires_at: float


class LocalShard:
    """A trace store of this process as a shard. Implements `Shard`."""

    def __init__(self, store: TraceStore, layout: int, *, catches_up: bool = False) -> None:
        """Takes an open store.

        Args:
            store: the store, which `close` closes.
            layout: the number of the layout that determines its traces.
            catches_up: True if a followed store reads all acknowledged data before a search.
        """
        self._store = store
        self._layout = layout
        self._catches_up = catches_up
        self._ended: deque[int] = deque(maxlen=_MAX_ENDED)
        self._pins: dict[int, _Pin] = {}
        self._lock = threading.Lock()
        self._feed = store.tail_feed()
        self._tails: dict[int, Tail] = {}

    @property
    def store(self) -> TraceStore:
        """Returns the store."""
        return self._store

    def begin_answer(self, ask: Ask, question: bytes, *, is_first: bool, run: Run) -> Call[bytes]:
        """See `Shard.begin_answer`."""
        return run(self.answer, ask, question, is_first)

    def answer(self, ask: Ask, question: bytes, is_first: bool) -> bytes:  # noqa: FBT001  # threads pass it by position
        """Returns the eventual result of `begin_answer`."""
        self._expect(ask.layout)
        pin = self._pin(ask) if is_first else self._pinned(ask.search)
        return pin.leaf.respond(question, pin.cancel)

    def end(self, searches: Sequence[int]) -> None:
        """See `Shard.end`."""
        with self._lock:
            ended = [self._pins.pop(search, None) for search in searches]
            self._ended.extend(search for search, pin in zip(searches, ended, strict=True) if pin is None)
        for pin in ended:
            if pin is not None:
                pin.cancel.cancel()

    def expire(self) -> None:
        """Cancels and forgets searches past their deadline, because their caller may have ended."""
        now = time.monotonic()
        with self._lock:
            expired = [self._pins.pop(search) for search, pin in list(self._pins.items()) if pin.expires_at < now]
        for pin in expired:
            pin.cancel.cancel()

    def begin_ingest(self, part: Part, waiting: Waiting, run: Run) -> Call[Outcome]:  # noqa: ARG002
        """See `Shard.begin_ingest`. The store itself groups concurrent writes."""
        return run(self.ingest, part)

    def ingest(self, part: Part) -> Outcome:
        """Returns the eventual result of `begin_ingest`."""
        layout, received, spans = part
        self._expect(layout)
        return ingest_part(self._store, received, spans)

    def delete(self, ask: Ask, *, dry_run: bool) -> int:
        """See `Shard.delete`."""
        self._expect(ask.layout)
        return self._store.delete(Filter.of_query(ask.query), dry_run)

    def export(self, ask: Ask, form: str) -> Download:
        """See `Shard.export`."""
        self._expect(ask.layout)
        return self._current().export(Filter.of_query(ask.query), form)

    def open_tail(self, ask: Ask) -> None:
        """See `Shard.open_tail`."""
        self._expect(ask.layout)
        self._tails[ask.search] = self._feed.open(Filter.of_query(ask.query))

    def poll_tails(self, wanted: list[tuple[int, int, int | None]]) -> tuple[list[list[Event]], bool, list[str]]:
        """See `Shard.poll_tails`."""
        readers = []
        for number, most, after in wanted:
            tail = self._tails.get(number)
            if tail is None or (after is not None and not tail.rewind(after)):
                raise PinLostError("a shard lost the position of a tail; reconnect")
            readers.append((tail, most))
        return self._feed.poll(readers)

    def close_tails(self, tails: Sequence[int]) -> None:
        """See `Shard.close_tails`."""
        for tail in tails:
            self._tails.pop(tail, None)

    @property
    def as_of(self) -> int | None:
        """See `Shard.as_of`."""
        return self._store.as_of

    def probe(self) -> None:
        """See `Shard.probe`. A shard in this process always responds."""

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

    def _current(self) -> TraceStore:
        """Returns the store, with all previously acknowledged data."""
        if self._catches_up:
            self._store.refresh()
        return self._store

    def _pin(self, ask: Ask) -> _Pin:
        self.expire()
        pin = _Pin(PinnedLeaf(self._current(), ask.query), CancellationToken(), time.monotonic() + ask.seconds)
        with self._lock:
            if ask.search in self._ended:
                raise CancelledError("the search has ended")
            if len(self._pins) >= MAX_PINS:
                raise UnavailableError(f"more than {MAX_PINS} searches of a shard at once")
            self._pins[ask.search] = pin
        return pin

    def _pinned(self, search: int) -> _Pin:
        with self._lock:
            pin = self._pins.get(search)
        if pin is None:
            raise PinLostError("a shard lost the state of the search; retry")
        return pin
