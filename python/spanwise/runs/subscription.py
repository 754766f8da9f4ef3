"""A subscription to the events of one run, from memory or, for older events, from the database.

See docs/reference/api-runs.md#resume.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from spanwise.errors import NotFoundError
from spanwise.runs.active_run import RunEvent, first_chunk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from spanwise.database import Database
    from spanwise.runs.active_run import ActiveRun
    from spanwise.runs.storage.writer import DatabaseWriter

MAX_READ_EVENTS = 256
FIRST_READ_EVENTS = 16
"""The initial number of events per database read. It grows while events are small, so that a subscriber holds about 256
KiB."""
SMALL_READ_BYTES = 64 * 1024


class Subscription:
    """One subscriber of one run."""

    def __init__(self, writer: DatabaseWriter, run_id: str, active: ActiveRun | None) -> None:
        """Subscribes to a run. The caller is responsible for authorization.

        Args:
            writer: gives access to the stored events.
            run_id: the run.
            active: the run if it is in progress; otherwise None.
        """
        self._writer = writer
        self._run_id = run_id
        self._active = active
        self._read_events = FIRST_READ_EVENTS

    async def events_after(self, index: int) -> AsyncGenerator[RunEvent, None]:
        """Yields the events with a greater index, past and future, until the run ends or pauses.

        Args:
            index: an index; -1 for all events.
        """
        active = self._active
        while True:
            events = active.events_after(index, MAX_READ_EVENTS) if active is not None else None
            if events is None:
                events = await self._stored_events(index)
            with self._writer.budget.hold() as lease:
                lease.count(_size(events))
                for event in events:
                    yield event
                    index = event.index
            if events:
                continue
            if active is None or active.has_ended:
                return
            await active.changed(index)

    async def replay_after(self, index: int) -> AsyncGenerator[RunEvent, None]:
        """Yields the same events with announcements: `replay`, or `catch_up` and `subscribed`.

        An announcement has the index of the event before it, so that a client that reconnects requests the right event.

        Args:
            index: an index; -1 for all events.

        Raises:
            NotFoundError: the run was deleted.
        """
        is_running = self._active is not None and not self._active.has_ended
        if self._active is None or not is_running:
            record = await self._writer.transact(lambda database: database.run(self._run_id))
            if record is None:
                raise NotFoundError("Run not found")
            total = await self._writer.transact(lambda database: next_index(database, self._run_id))
            counts = {"total_events": total, "total_buffered": total, "last_event_index_requested": index}
            yield self._announce(index, "replay", "all events after the last one", {"status": record.status, **counts})
            last = total - 1
        else:
            last = self._active.next_index - 1
            counts = {"missed_events": max(0, last - index), "current_event_count": last + 1}
            if last > index:
                yield self._announce(index, "catch_up", "what was missed", {"status": "running", **counts})
            else:
                yield self._announce_subscribed(index)
        async for event in self.events_after(index):
            yield event
            if event.index == last and is_running:
                yield self._announce_subscribed(last)

    def _announce_subscribed(self, index: int) -> RunEvent:
        return self._announce(index, "subscribed", "events as they happen", {"status": "running"})

    def _announce(self, index: int, name: str, message: str, members: dict[str, object]) -> RunEvent:
        body = {"event": name, "run_id": self._run_id, "created_at": int(time.time()), **members, "message": message}
        return RunEvent(index, name, msgspec.json.encode(body))

    async def _stored_events(self, index: int) -> Sequence[RunEvent]:
        """Returns a chunk of events with a greater index from the database, and the events that could not be stored."""
        await self._writer.flushed()
        found = await self._writer.transact(lambda database: database.events(self._run_id, index, self._read_events))
        last = found[-1][0] if len(found) == self._read_events else None
        unstored = [event[1:] for event in self._writer.unstored_events(self._run_id)]
        more = [event for event in unstored if event[0] > index and (last is None or event[0] < last)]
        merged = sorted({event[0]: event for event in found + more}.values())
        events = first_chunk([RunEvent(*event) for event in merged], self._writer.budget)
        is_small = _size(events) < SMALL_READ_BYTES
        self._read_events = min(self._read_events * 2, MAX_READ_EVENTS) if is_small else max(self._read_events // 2, 1)
        return events


def _size(events: Sequence[RunEvent]) -> int:
    return sum(len(event.body) for event in events)


def next_index(database: Database, run_id: str) -> int:
    """Returns the index after the last event of a run, by an exponential and then a binary search."""
    low, step = -1, 1
    while database.events(run_id, low + step, 1):
        low, step = low + step, step * 2
    high = low + step  # no event has a greater index; `low` is -1, or an event has a greater one
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if database.events(run_id, middle, 1) else (low, middle)
    return high + 1 if database.events(run_id, high - 1, 1) else high
