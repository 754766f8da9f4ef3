"""A run in progress: its latest events in memory, shared by all subscribers, and the signals that end it."""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from spanwise.components.events import is_text_chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.database import SessionKey
    from spanwise.errors import AnswerError
    from spanwise.fair_budget import FairBudget
    from spanwise.runs.storage.writer import DatabaseWriter

MAX_EVENTS = 10_000
MAX_BYTES = 16 * 1024 * 1024
"""Event bytes of one run in memory. Subscribers that are further behind read from the database."""
MAX_CHUNK_BYTES = 256 * 1024
"""Event bytes that one subscriber holds while it waits for a slow reader. A single event may be larger."""

MAX_TAIL_EVENTS = 256
MAX_TAIL_BYTES = 64 * 1024
"""Event bytes kept in memory for nearby subscribers, of an ended run or of any run whose caller is at its share. A
subscriber then holds at most this much too."""

_encoder = msgspec.json.Encoder()


class RunEvent(Struct, frozen=True):
    """One event of a run, encoded.

    Attributes:
        index: its position among the events of its run, from 0.
        name: its name, such as `RunContent`.
        body: its JSON, on one line.
    """

    index: int
    name: str
    body: bytes


class ActiveRun:
    """One run from its start or resumption to its end or pause.

    Attributes:
        run_id: its id.
        session: the session it belongs to.
        first_index: the index of its first event; greater than 0 if it resumes after a pause.
        next_index: the index of the next event.
        result: its result; None before the end.
        error: the error that the component raised; None without an error.
        rejected: why the component rejected the answers, so that the run paused again.
        is_cancelled: True if a caller cancelled it.
        is_interrupted: True if the service shut down before it ended.
        result_events: the events that become part of its result, as JSON: all except pieces of text.
    """

    def __init__(
        self, ids: tuple[str, SessionKey], first_index: int, writer: DatabaseWriter, *, keeps_events: bool
    ) -> None:
        """Creates a run without events.

        Args:
            ids: the id of the run and the key of its session.
            first_index: the index of its first event.
            writer: stores its events.
            keeps_events: True if its result includes its events.
        """
        self.run_id, self.session = ids
        self.first_index = first_index
        self.next_index = first_index
        self.result: dict[str, Any] = {}
        self.error: BaseException | None = None
        self.rejected: AnswerError | None = None
        self.is_cancelled = False
        self.is_interrupted = False
        self.result_events: list[msgspec.Raw] = []
        self._keeps_events = keeps_events
        self._events: deque[RunEvent] = deque()
        self._bytes = self._result_bytes = 0
        self._writer = writer
        self._budget = writer.budget
        self._lease = writer.budget.hold()
        self._changed = asyncio.Event()
        self._stop = asyncio.Event()
        self._accepts_events = True
        self._ended = asyncio.Event()
        self._settled = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def session_id(self) -> str:
        """Returns the id of its session."""
        return self.session.session_id

    @property
    def has_ended(self) -> bool:
        """Returns True if its last event was published."""
        return self._ended.is_set()

    def emit(self, event: dict[str, Any]) -> None:
        """Stores and publishes an event of the component. May be called from any thread; late events are dropped."""
        if self._loop is _running_loop():
            self._emit(event)
        else:
            # the thread may change the event later, and an encoding error should be raised in it
            body = _encoder.encode(event)
            self._loop.call_soon_threadsafe(self._emit, msgspec.json.decode(body))

    def _emit(self, event: dict[str, Any]) -> None:
        if self._accepts_events:
            encoded = self.encode(event)
            self._writer.add_event((self.run_id, encoded.index, encoded.name, encoded.body), self._lease)
            self.publish(encoded)

    def encode(self, event: dict[str, Any]) -> RunEvent:
        """Returns an event with the next index, without publishing it."""
        event = {**event, "event_index": self.next_index}
        return RunEvent(self.next_index, event["event"], escape_line_ends(_encoder.encode(event)))

    def publish(self, event: RunEvent) -> None:
        """Makes an event visible to all subscribers."""
        size = len(event.body)
        if self._keeps_events and not is_text_chunk(event.name):
            self.result_events.append(msgspec.Raw(event.body))
            self._result_bytes += size
            self._lease.count(size)
        self.next_index = event.index + 1
        self._events.append(event)
        self._bytes += size
        self._lease.count(size)
        if self._lease.is_at_its_share:
            self._trim(MAX_TAIL_EVENTS, MAX_TAIL_BYTES)
        else:
            self._trim(MAX_EVENTS, MAX_BYTES)
        self._notify()

    def _trim(self, max_events: int, max_bytes: int) -> None:
        """Drops the oldest events from memory until both limits are met. The last event stays."""
        while len(self._events) > max_events or (self._bytes > max_bytes and len(self._events) > 1):
            size = len(self._events.popleft().body)
            self._bytes -= size
            self._lease.count(-size)

    def events_after(self, index: int, limit: int) -> Sequence[RunEvent] | None:
        """Returns a chunk of up to `limit` events with a greater index; None if the next event is not in memory."""
        if self._events and self._events[0].index > max(index + 1, self.first_index):
            return None
        if index + 1 < self.first_index:
            return None
        skipped = max(0, index + 1 - self._events[0].index) if self._events else 0
        return first_chunk(list(islice(self._events, skipped, skipped + limit)), self._budget)

    async def changed(self, index: int) -> None:
        """Waits until an event with a greater index exists, or the run has ended."""
        while self.next_index <= index + 1 and not self.has_ended:
            await self._changed.wait()

    def stop(self) -> None:
        """Signals the run to end now."""
        self._stop.set()

    async def stopped(self) -> None:
        """Waits until `stop` is called."""
        await self._stop.wait()

    def reject_events(self) -> None:
        """Drops further events of the component."""
        self._accepts_events = False

    def end(self) -> None:
        """Marks the run as ended. No event may follow."""
        self._accepts_events = False
        self._ended.set()
        self._settled.set()
        self._trim(MAX_TAIL_EVENTS, MAX_TAIL_BYTES)
        self._notify()

    async def ended(self) -> None:
        """Waits until the run has ended or paused."""
        await self._ended.wait()

    def delay(self) -> None:
        """Records that the database delays the end of the run for longer than callers wait."""
        self._settled.set()

    async def settled(self) -> None:
        """Waits until the run has ended or paused, or its end is delayed."""
        await self._settled.wait()

    def __del__(self) -> None:
        """Releases its leases. A subscriber may keep the last events alive after the run has ended."""
        self._lease.count(-(self._bytes + self._result_bytes))

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()


def first_chunk(events: Sequence[RunEvent], budget: FairBudget) -> Sequence[RunEvent]:
    """Returns the first events that the current caller may hold at once, and at least one."""
    max_bytes = MAX_TAIL_BYTES if budget.hold().is_at_its_share else MAX_CHUNK_BYTES
    size = 0
    for count, event in enumerate(events):
        size += len(event.body)
        if size > max_bytes and count:
            return events[:count]
    return events


def escape_line_ends(body: bytes) -> bytes:
    """Returns JSON with U+2028, U+2029 and U+0085 escaped.

    Some readers treat these characters as line ends, so a component's text could forge an event of a stream.
    """
    for character, escaped in ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085")):
        body = body.replace(character, escaped)
    return body


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
