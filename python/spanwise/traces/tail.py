"""Tails: streams of committed traces that match a filter.

The engine tracks changes and keeps the pending events of each reader. This module polls every store with readers at a
fixed interval, once per store. A reader gets its next events after it has sent the previous ones. Neither a stalled
reader nor many readers delay ingest. See `docs/reference/api-search.md#tail`.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import Counter
from contextvars import Context
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from spanwise.errors import UnavailableError
from spanwise.fair_budget import FairBudget, current_caller
from spanwise.pools.pool import Pool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from spanwise._engine import Filter
    from spanwise.fair_budget import Lease
    from spanwise.store_protocol import Store, Tail

Result = TypeVar("Result")

MAX_TAILS = 64
"""Concurrent readers."""
POLL_SECONDS = 0.1
"""How often a store with readers is polled for changes."""
MAX_SILENCE_SECONDS = 1.0
"""The maximum time between checks that an unchanged store still belongs to this process."""
MAX_TAKEN_TRACES = 256
"""The maximum number of traces that a reader takes in one poll."""
MAX_HELD = 32
HELD_SECONDS = 300.0
"""The number of tails that can be resumed after a disconnect, and for how long."""

_log = logging.getLogger(__name__)


class TailEvent(NamedTuple):
    """One event of a tail.

    Attributes:
        id: the position after it, opaque to clients; empty without a position.
        name: `started`, `trace`, `dropped`, `gap` or `end`.
        body: its JSON.
    """

    id: str
    name: str
    body: bytes


class _Stream:
    """A reader of the engine, which connections send in turn.

    Attributes:
        id: its name in positions, which cannot be guessed.
        key: its caller, store and filter.
        feed: the feed of its store.
        tail: the reader.
        connection: the connection that sends it; None while it is held for one.
        held_since: the start of the hold, in monotonic time.
    """

    def __init__(self, key: tuple[str, Store, bytes], feed: _Feed, tail: Tail) -> None:
        self.id = secrets.token_urlsafe(16)
        self.key = key
        self.feed = feed
        self.tail = tail
        self.connection: TailConnection | None = None
        self.held_since = 0.0


class TailConnection:
    """One connection that sends a tail. Always close it."""

    def __init__(self, tails: Tails, slot: Lease) -> None:
        """Holds a slot, without a stream yet."""
        self._tails = tails
        self._slot = slot
        self._stream: _Stream | None = None
        self._started: TailEvent | None = None
        self._end: TailEvent | None = None
        self.waiter: asyncio.Future[list[TailEvent]] | None = None
        """Receives the next events."""

    def start(self, stream: _Stream, number: int, *, is_resumed: bool) -> None:
        """Starts to send a stream after its event `number`."""
        self._stream = stream
        body = b'{"resumed":true}' if is_resumed else b'{"resumed":false}'
        self._started = TailEvent(f"{stream.id}.{number}", "started", body)
        if self._tails.is_draining:
            self.end("shutdown")
        if self._end is None:
            stream.feed.join(self)

    @property
    def stream(self) -> _Stream:
        """Returns the stream that it sends."""
        assert self._stream is not None  # noqa: S101  # it has started
        return self._stream

    async def events(self) -> AsyncGenerator[list[TailEvent], None]:
        """Yields the events as they arrive, several at once. The last event has the reason for the end."""
        assert self._started is not None  # noqa: S101  # it has started
        yield [self._started]
        while self._end is None:
            self.waiter = asyncio.get_running_loop().create_future()
            self.stream.feed.wake()
            if events := await self.waiter:
                yield events
        yield [self._end]

    def end(self, reason: str) -> None:
        """Ends the tail with one last event that has the reason. Only the first call has an effect."""
        if self._end is None:
            self._end = TailEvent("", "end", b'{"reason":"%s"}' % reason.encode())
            self._leave()
            if self.waiter is not None and not self.waiter.done():
                self.waiter.set_result([])

    def close(self) -> None:
        """Releases its slot. Its stream is held for a connection that resumes it."""
        self._leave()
        self._tails.hold(self)

    def _leave(self) -> None:
        self._slot.release()
        if self._stream is not None:
            self._stream.feed.leave(self)


class _Feed:
    """Polls one store while it has readers."""

    def __init__(self, store: Store, pool: Pool) -> None:
        self.engine = store.tail_feed()
        self._pool = pool
        self._connections: list[TailConnection] = []
        self._polling: asyncio.Task[None] | None = None
        self._is_due = False

    def join(self, connection: TailConnection) -> None:
        """Adds a connection."""
        self._connections.append(connection)
        if self._polling is None or self._polling.done():
            # The task runs in an empty context. Otherwise the pool would charge it to the first caller.
            self._polling = asyncio.get_running_loop().create_task(self._poll_repeatedly(), context=Context())

    def leave(self, connection: TailConnection) -> None:
        """Removes a connection; a no-op for an unknown one."""
        if connection in self._connections:
            self._connections.remove(connection)

    def wake(self) -> None:
        """Polls soon, even without a change."""
        self._is_due = True

    async def _poll_repeatedly(self) -> None:
        position, polled_at = -1, 0.0
        while self._connections:
            await asyncio.sleep(POLL_SECONDS)
            # A store that another process holds no longer changes; polling detects that.
            is_overdue = time.monotonic() - polled_at > MAX_SILENCE_SECONDS
            if self._is_due or is_overdue or self.engine.position != position:
                position, self._is_due, polled_at = self.engine.position, False, time.monotonic()
                try:
                    await self._poll()
                except Exception:  # noqa: BLE001  # readers must not wait forever after any error
                    _log.exception("the tails of a trace store have failed")
                    for connection in list(self._connections):
                        connection.end("failed")

    async def _poll(self) -> None:
        waiters = [(connection, connection.waiter) for connection in self._connections]
        readers = [
            (connection.stream.tail, MAX_TAKEN_TRACES if waiter is not None and not waiter.done() else 0)
            for connection, waiter in waiters
        ]
        polled, has_deferred, errors = await self._pool.run(lambda: self.engine.poll(readers), is_admitted=True)
        self._is_due |= has_deferred
        for error in errors:
            _log.error("a tail read damaged data: %s", error)
        for (connection, waiter), events in zip(waiters, polled, strict=True):
            # A connection that has ended loses these events. A client that resumes sends its position and gets them
            # again.
            if events and waiter is not None and not waiter.done():
                stream_id = connection.stream.id
                waiter.set_result([TailEvent(f"{stream_id}.{number}", name, body) for number, name, body in events])


class Tails:
    """The tails of all stores: their number, and those held for resumption.

    Attributes:
        pool: the thread that polls stores.
        is_draining: True once all tails have ended because of a shutdown.
    """

    def __init__(self) -> None:
        """Starts without readers."""
        self.pool = Pool("tail", 1, MAX_TAILS, own=0)
        self._slots = FairBudget(MAX_TAILS, f"more than {MAX_TAILS} tails at once")
        self._feeds: dict[Store, _Feed] = {}
        self._streams: dict[str, _Stream] = {}
        self.is_draining = False

    @property
    def open_count(self) -> int:
        """Returns the number of readers."""
        return self._slots.used

    async def open(
        self, store: Store, compile_filter: Callable[[], Filter], last_event_id: str | None
    ) -> TailConnection:
        """Returns a connection that sends the traces committed from now on, or after a held position.

        Args:
            store: the store to follow.
            compile_filter: returns the filter, restricted to the caller's traces; called in a thread.
            last_event_id: the position, as the caller sent it.

        Raises:
            ValidationError: the filter is neither an object nor null.
            FilterError: the filter is invalid.
            UnavailableError: too many tails are open, or the service is shutting down.
        """
        compiled = await self.pool.run(compile_filter)
        key = (current_caller.get(), store, compiled.canonical())
        stream, number = self._held(last_event_id, key)
        if stream is not None and stream.connection is not None:
            stream.connection.end("replaced")
        if self.is_draining:
            raise UnavailableError("the service is shutting down")
        connection = TailConnection(self, self._slots.take())
        try:
            if stream is not None:
                stream.connection = connection
                if await self._run(lambda: stream.tail.rewind(number)):
                    connection.start(stream, number, is_resumed=True)
                    return connection
                del self._streams[stream.id]
            connection.start(await self._new_stream(key, compiled, connection), 0, is_resumed=False)
        except BaseException:  # a client that disconnects cancels this
            connection.close()
            raise
        return connection

    async def _new_stream(self, key: tuple[str, Store, bytes], compiled: Filter, connection: TailConnection) -> _Stream:
        _, store, _ = key
        feed = self._feeds.setdefault(store, _Feed(store, self.pool))
        stream = _Stream(key, feed, await self._run(lambda: feed.engine.open(compiled)))
        stream.connection = connection
        self._streams[stream.id] = stream
        return stream

    async def _run(self, work: Callable[[], Result]) -> Result:
        """Returns the result of `work`, in order with the polls."""
        return await self.pool.run(work, is_admitted=True)

    def _held(self, last_event_id: str | None, key: tuple[str, Store, bytes]) -> tuple[_Stream | None, int]:
        """Returns the stream of a position and its event number, if it is held for this caller."""
        stream_id, _, digits = (last_event_id or "").rpartition(".")
        self._forget_old()
        stream = self._streams.get(stream_id)
        is_number = digits.isascii() and digits.isdigit() and len(digits) <= len(str(2**53))
        return (stream, int(digits)) if stream is not None and stream.key == key and is_number else (None, 0)

    def hold(self, connection: TailConnection) -> None:
        """Holds the stream of a connection, unless another connection already sends it."""
        for stream in self._streams.values():
            if stream.connection is connection:
                stream.connection, stream.held_since = None, time.monotonic()
                break
        self._forget_old()

    def _forget_old(self) -> None:
        """Forgets streams held for too long.

        Beyond `MAX_HELD`, also forgets the oldest ones of the caller with the most.
        """
        held = [stream for stream in self._streams.values() if stream.connection is None]
        for stream in held:
            if time.monotonic() - stream.held_since >= HELD_SECONDS:
                del self._streams[stream.id]
        held = [stream for stream in held if stream.id in self._streams]
        while len(held) > MAX_HELD:
            callers = Counter(stream.key[0] for stream in held)
            most = max(callers, key=lambda caller: callers[caller])
            oldest = min((stream for stream in held if stream.key[0] == most), key=lambda stream: stream.held_since)
            held.remove(oldest)
            del self._streams[oldest.id]

    def drain(self) -> None:
        """Ends all tails and rejects new ones."""
        self.is_draining = True
        for stream in list(self._streams.values()):
            if stream.connection is not None:
                stream.connection.end("shutdown")
