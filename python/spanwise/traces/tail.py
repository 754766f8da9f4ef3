"""Tails: streams of the traces that are committed, as far as a filter matches them.

The engine knows what changed and keeps what each reader has yet to be sent. Here every store with a reader is polled at
a fixed pace, for all of its readers at once; a reader gets its next events once it has sent the last ones. So neither a
reader that takes nothing nor many of them hold up ingest. See `docs/reference/api-search.md#tail`.
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
from spanwise.traces.pools import Pool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from spanwise._engine import Filter
    from spanwise.fair_budget import Holding
    from spanwise.traces.port import Store, Tail

Result = TypeVar("Result")

MAX_TAILS = 64
"""Readers at once."""
POLL_SECONDS = 0.1
"""How often a store with readers is asked for changes."""
MAX_SILENCE_SECONDS = 1.0
"""How long it may take until a store that does not change any more is asked whether it is still this process's own."""
MAX_TAKEN_TRACES = 256
"""The most traces that a reader takes in one poll."""
MAX_HELD = 32
HELD_SECONDS = 300.0
"""How many tails, and how long, can be resumed after their connections ended."""

_log = logging.getLogger(__name__)


class TailEvent(NamedTuple):
    """One event of a tail.

    Attributes:
        id: the position after it, which says nothing to anybody but this service; empty if there is none.
        name: `started`, `trace`, `dropped`, `gap` or `end`.
        body: its JSON.
    """

    id: str
    name: str
    body: bytes


class _Stream:
    """A reader of the engine, which connections take turns to send.

    Attributes:
        id: its name in positions, which nobody can guess.
        key: the caller, the store and the filter that it is for.
        feed: the feed of its store.
        tail: the reader.
        connection: the connection that sends it; None if it is held for one.
        held_since: since when, in monotonic time.
    """

    def __init__(self, key: tuple[str, Store, bytes], feed: _Feed, tail: Tail) -> None:
        self.id = secrets.token_urlsafe(16)
        self.key = key
        self.feed = feed
        self.tail = tail
        self.connection: TailConnection | None = None
        self.held_since = 0.0


class TailConnection:
    """One connection that sends a tail. Close it however it ends."""

    def __init__(self, tails: Tails, place: Holding) -> None:
        """Has a place, and no stream yet."""
        self._tails = tails
        self._place = place
        self._stream: _Stream | None = None
        self._started: TailEvent | None = None
        self._end: TailEvent | None = None
        self.waiter: asyncio.Future[list[TailEvent]] | None = None
        """Gets the next events."""

    def start(self, stream: _Stream, number: int, *, is_resumed: bool) -> None:
        """Begins to send a stream after its event `number`."""
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
        """Yields the events as they come, several at once. The last one says why it was the last."""
        assert self._started is not None  # noqa: S101  # it has started
        yield [self._started]
        while self._end is None:
            self.waiter = asyncio.get_running_loop().create_future()
            self.stream.feed.wake()
            if events := await self.waiter:
                yield events
        yield [self._end]

    def end(self, reason: str) -> None:
        """Sends no more events than one that says why. Only the first call has an effect."""
        if self._end is None:
            self._end = TailEvent("", "end", b'{"reason":"%s"}' % reason.encode())
            self._leave()
            if self.waiter is not None and not self.waiter.done():
                self.waiter.set_result([])

    def close(self) -> None:
        """Gives its place back. What it sends is held for a connection that resumes it."""
        self._leave()
        self._tails.hold(self)

    def _leave(self) -> None:
        self._place.release()
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
            # It belongs to nobody: the pool must not count it for the caller who came first.
            self._polling = asyncio.get_running_loop().create_task(self._poll_repeatedly(), context=Context())

    def leave(self, connection: TailConnection) -> None:
        """Removes a connection, if it is one of these."""
        if connection in self._connections:
            self._connections.remove(connection)

    def wake(self) -> None:
        """Polls soon, even if nothing changes."""
        self._is_due = True

    async def _poll_repeatedly(self) -> None:
        position, polled_at = -1, 0.0
        while self._connections:
            await asyncio.sleep(POLL_SECONDS)
            # A store that another process holds does not change any more; polling tells.
            is_overdue = time.monotonic() - polled_at > MAX_SILENCE_SECONDS
            if self._is_due or is_overdue or self.engine.position != position:
                position, self._is_due, polled_at = self.engine.position, False, time.monotonic()
                try:
                    await self._poll()
                except Exception:  # noqa: BLE001  # whatever it is, readers must not wait for what never comes
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
            _log.error("a tail found damage: %s", error)
        for (connection, waiter), events in zip(waiters, polled, strict=True):
            # A connection that has left loses them. Whoever resumes it says what it has, and gets them again.
            if events and waiter is not None and not waiter.done():
                stream_id = connection.stream.id
                waiter.set_result([TailEvent(f"{stream_id}.{number}", name, body) for number, name, body in events])


class Tails:
    """The tails of all stores: their number, and those that are held to be resumed.

    Attributes:
        pool: the thread in which stores are polled.
        is_draining: whether all tails have ended, for the service shuts down.
    """

    def __init__(self) -> None:
        """Starts without readers."""
        self.pool = Pool("tail", 1, MAX_TAILS, own=0)
        self._places = FairBudget(MAX_TAILS, f"more than {MAX_TAILS} tails at once")
        self._feeds: dict[Store, _Feed] = {}
        self._streams: dict[str, _Stream] = {}
        self.is_draining = False

    @property
    def open_count(self) -> int:
        """Returns how many readers there are."""
        return self._places.used

    async def open(
        self, store: Store, compile_filter: Callable[[], Filter], last_event_id: str | None
    ) -> TailConnection:
        """Returns a connection that sends what is committed from now on, or after a position that is held.

        Args:
            store: the store to follow.
            compile_filter: returns the filter, restricted to what the caller may see; called in a thread.
            last_event_id: the position, as the caller has it.

        Raises:
            ValidationError: the filter is neither an object nor null.
            FilterError: the filter is invalid.
            UnavailableError: there are too many tails, or the service is shutting down.
        """
        compiled = await self.pool.run(compile_filter)
        key = (current_caller.get(), store, compiled.canonical())
        stream, number = self._held(last_event_id, key)
        if stream is not None and stream.connection is not None:
            stream.connection.end("replaced")
        if self.is_draining:
            raise UnavailableError("the service is shutting down")
        connection = TailConnection(self, self._places.take())
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
        """Returns the stream of a position and the number of its event, if it is held for this caller."""
        stream_id, _, digits = (last_event_id or "").rpartition(".")
        self._forget_old()
        stream = self._streams.get(stream_id)
        is_number = digits.isascii() and digits.isdigit() and len(digits) <= len(str(2**53))
        return (stream, int(digits)) if stream is not None and stream.key == key and is_number else (None, 0)

    def hold(self, connection: TailConnection) -> None:
        """Holds what a connection has sent, unless another connection sends it already."""
        for stream in self._streams.values():
            if stream.connection is connection:
                stream.connection, stream.held_since = None, time.monotonic()
                break
        self._forget_old()

    def _forget_old(self) -> None:
        """Forgets streams that were held for long; beyond `MAX_HELD` also the oldest ones of the caller with most."""
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
        """Ends all tails, and accepts no more."""
        self.is_draining = True
        for stream in list(self._streams.values()):
            if stream.connection is not None:
                stream.connection.end("shutdown")
