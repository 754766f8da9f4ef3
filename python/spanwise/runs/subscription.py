"""The events of one run, for whoever follows it: from memory, and behind that from the database.

Source: compat 4.4 and 4.5 for what is said of a run that is followed again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from spanwise.errors import NotFoundError
from spanwise.runs.active_run import Entry, at_once

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from spanwise.database import Database
    from spanwise.runs.active_run import LiveRun
    from spanwise.runs.database_writer import Journal

REPLAYED_AT_ONCE = 256
FIRST_READ = 16
"""How many events are read first; more if they are small, so that a follower holds about a quarter of a mebibyte."""
SMALL_READ_BYTES = 64 * 1024


class Following:
    """One follower of one run."""

    def __init__(self, journal: Journal, run_id: str, live: LiveRun | None) -> None:
        """Follows a run; that the caller may see it was checked before.

        Args:
            journal: where its events are stored.
            run_id: the run.
            live: the same run while it runs; None if it does not.
        """
        self._journal = journal
        self._run_id = run_id
        self._live = live
        self._read = FIRST_READ

    async def after(self, index: int) -> AsyncGenerator[Entry, None]:
        """Gives the events with a greater index: what there is, then what comes, until the run ends or pauses.

        Args:
            index: an index; -1 for all events.
        """
        live = self._live
        while True:
            entries = live.after(index, REPLAYED_AT_ONCE) if live is not None else None
            if entries is None:
                entries = await self._stored(index)
            with self._journal.room.held(_size(entries)):
                for entry in entries:
                    yield entry
                    index = entry.index
            if entries:
                continue
            if live is None or live.has_ended:
                return
            await live.changed(index)

    async def again(self, index: int) -> AsyncGenerator[Entry, None]:
        """Gives the same, and says in between what it is: `replay`, or `catch_up` and `subscribed`.

        What is said so has the index of the event before it, so that a client that comes back asks for the right one.

        Raises:
            NotFoundError: the run is gone.
        """
        is_running = self._live is not None and not self._live.has_ended
        if self._live is None or not is_running:
            record = await self._journal.do(lambda database: database.run(self._run_id))
            if record is None:
                raise NotFoundError("Run not found")
            total = await self._journal.do(lambda database: next_index(database, self._run_id))
            counts = {"total_events": total, "total_buffered": total, "last_event_index_requested": index}
            yield self._said(index, "replay", "all events after the last one", {"status": record.status, **counts})
            last = total - 1
        else:
            last = self._live.next_index - 1
            counts = {"missed_events": max(0, last - index), "current_event_count": last + 1}
            if last > index:
                yield self._said(index, "catch_up", "what was missed", {"status": "running", **counts})
            else:
                yield self._subscribed(index)
        async for entry in self.after(index):
            yield entry
            if entry.index == last and is_running:
                yield self._subscribed(last)

    def _subscribed(self, index: int) -> Entry:
        return self._said(index, "subscribed", "events as they happen", {"status": "running"})

    def _said(self, index: int, name: str, message: str, members: dict[str, object]) -> Entry:
        body = {"event": name, "run_id": self._run_id, "created_at": int(time.time()), **members, "message": message}
        return Entry(index, name, msgspec.json.encode(body))

    async def _stored(self, index: int) -> Sequence[Entry]:
        await self._journal.flushed()
        found = await self._journal.do(lambda database: database.events(self._run_id, index, self._read))
        last = found[-1][0] if len(found) == self._read else None
        waiting = [event[1:] for event in self._journal.unstored(self._run_id)]
        more = [event for event in waiting if event[0] > index and (last is None or event[0] < last)]
        events = sorted({event[0]: event for event in found + more}.values())
        entries = at_once([Entry(*event) for event in events], self._journal.room)
        size = _size(entries)
        self._read = min(self._read * 2, REPLAYED_AT_ONCE) if size < SMALL_READ_BYTES else max(self._read // 2, 1)
        return entries


def _size(entries: Sequence[Entry]) -> int:
    return sum(len(entry.body) for entry in entries)


def next_index(database: Database, run_id: str) -> int:
    """Returns the index after the last event of a run, by looking at few of them."""
    low, step = -1, 1
    while database.events(run_id, low + step, 1):
        low, step = low + step, step * 2
    high = low + step  # no event comes after it; `low` is -1, or one comes after it
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if database.events(run_id, middle, 1) else (low, middle)
    return high + 1 if database.events(run_id, high - 1, 1) else high
