"""A run while it runs: its events, for all who follow it, and the word that ends it."""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.runs.database_writer import Journal
    from spanwise.runs.memory_budget import Room

MOST_EVENTS = 10_000
MOST_BYTES = 16 * 1024 * 1024
"""Events of one run in memory; whoever is further behind reads from the database."""
MOST_BYTES_AT_ONCE = 256 * 1024
"""What one follower holds of them while it waits for a slow reader; one event may be larger."""

MOST_EVENTS_AFTER = 256
MOST_BYTES_AFTER = 64 * 1024
"""What stays in memory after the end, for those who kept up, and before it while there is no room for more. A slow
reader does not keep the rest there, and then holds no more than this of it."""

_encoder = msgspec.json.Encoder()


class Entry(Struct, frozen=True):
    """One event, ready to be sent.

    Attributes:
        index: its place among the events of its run, from 0.
        name: what happened.
        body: its JSON, on one line.
    """

    index: int
    name: str
    body: bytes


class LiveRun:
    """One run, from its start to its end or pause.

    Attributes:
        run_id: its id.
        session_id: the conversation it belongs to.
        first_index: the index of its first event; more than 0 if it goes on after a pause.
        next_index: the index of the next event.
        result: its result, once it ended.
        error: what escaped the component, once it ended so.
        is_cancelled: whether somebody asked to end it.
        is_interrupted: whether the service ends before it.
        kept: the events that its result will have, as JSON: all but the pieces of text.
    """

    def __init__(self, ids: tuple[str, str], first_index: int, journal: Journal, *, keeps_events: bool) -> None:
        """Begins with no event.

        Args:
            ids: the run's id, and that of its session.
            first_index: the index of its first event.
            journal: where its events are stored.
            keeps_events: whether its result will have them.
        """
        self.run_id, self.session_id = ids
        self.first_index = first_index
        self.next_index = first_index
        self.result: dict[str, Any] = {}
        self.error: BaseException | None = None
        self.is_cancelled = False
        self.is_interrupted = False
        self.kept: list[msgspec.Raw] = []
        self._keeps_events = keeps_events
        self._entries: deque[Entry] = deque()
        self._bytes = self._kept_bytes = 0
        self._journal = journal
        self._room = journal.room
        self._changed = asyncio.Event()
        self._stop = asyncio.Event()
        self._is_open = True
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def has_ended(self) -> bool:
        """Returns whether its last event was sent."""
        return self._ended.is_set()

    def emit(self, event: dict[str, Any]) -> None:
        """Takes an event of the component, from any thread. What comes after the end is dropped."""
        if self._loop is _running_loop():
            self._emit(event)
        else:
            body = _encoder.encode(event)  # before it can change, and where its failure belongs
            self._loop.call_soon_threadsafe(self._emit, msgspec.json.decode(body))

    def _emit(self, event: dict[str, Any]) -> None:
        if self._is_open:
            entry = self.entry(event)
            self._journal.add((self.run_id, entry.index, entry.name, entry.body))
            self.publish(entry)

    def entry(self, event: dict[str, Any]) -> Entry:
        """Returns an event as the next entry, which is not published yet."""
        event = {**event, "event_index": self.next_index}
        return Entry(self.next_index, event["event"], one_line(_encoder.encode(event)))

    def publish(self, entry: Entry) -> None:
        """Shows an entry to all who follow."""
        if self._keeps_events and not entry.name.endswith("RunContent"):
            self.kept.append(msgspec.Raw(entry.body))
            self._kept_bytes += len(entry.body)
            self._room.take(len(entry.body))
        self.next_index = entry.index + 1
        self._entries.append(entry)
        self._bytes += len(entry.body)
        self._room.take(len(entry.body))
        if self._room.is_full:
            self._keep(MOST_EVENTS_AFTER, MOST_BYTES_AFTER)
        else:
            self._keep(MOST_EVENTS, MOST_BYTES)
        self._wake()

    def _keep(self, most: int, most_bytes: int) -> None:
        """Drops the first entries from memory, beyond so many or so large; the last one stays."""
        while len(self._entries) > most or (self._bytes > most_bytes and len(self._entries) > 1):
            size = len(self._entries.popleft().body)
            self._bytes -= size
            self._room.leave(size)

    def after(self, index: int, most: int) -> Sequence[Entry] | None:
        """Returns entries with a greater index, in order; None if the next one is not in memory any more."""
        if self._entries and self._entries[0].index > max(index + 1, self.first_index):
            return None
        if index + 1 < self.first_index:
            return None
        skipped = max(0, index + 1 - self._entries[0].index) if self._entries else 0
        return at_once(list(islice(self._entries, skipped, skipped + most)), self._room)

    async def changed(self, index: int) -> None:
        """Returns when there is an entry with a greater index, or the run ended."""
        while self.next_index <= index + 1 and not self.has_ended:
            await self._changed.wait()

    def stop(self) -> None:
        """Asks the run to end now."""
        self._stop.set()

    async def stopped(self) -> None:
        """Returns when the run is asked to end now."""
        await self._stop.wait()

    def shut(self) -> None:
        """Takes no more events of the component."""
        self._is_open = False

    def end(self) -> None:
        """Says that nothing follows."""
        self._is_open = False
        self._ended.set()
        self._keep(MOST_EVENTS_AFTER, MOST_BYTES_AFTER)
        self._wake()

    async def ended(self) -> None:
        """Returns when the run has ended or paused."""
        await self._ended.wait()

    def __del__(self) -> None:
        """Leaves the room: whoever followed it to the end may have held its last events."""
        self._room.leave(self._bytes + self._kept_bytes)

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def at_once(entries: Sequence[Entry], room: Room) -> Sequence[Entry]:
    """Returns as many of the first entries as one follower holds at once; one or more, if there are any."""
    most = MOST_BYTES_AFTER if room.is_full else MOST_BYTES_AT_ONCE
    held = 0
    for count, entry in enumerate(entries):
        held += len(entry.body)
        if held > most and count:
            return entries[:count]
    return entries


def one_line(body: bytes) -> bytes:
    """Returns JSON without what some readers take for the end of a line, so that nobody can forge an event."""
    for character, escaped in ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085")):
        body = body.replace(character, escaped)
    return body


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
