"""The way to the database: one thread, and events that arrive together become durable together."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from spanwise.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanwise.database import Database, RunRecord
    from spanwise.runs.memory_budget import Room

Result = TypeVar("Result")
StoredEvent: TypeAlias = tuple[str, int, str, bytes]
"""Run id, index, name and JSON of one event."""

Asked: TypeAlias = "tuple[Callable[[Database], Any], asyncio.Future[Any]]"
"""What is to be done, and who waits for it."""

MOST_TOGETHER = 256
RETRY_SECONDS = (0.05, 0.25, 1.0, 2.0, 4.0, 8.0, 15.0)
MOST_UNSTORED = 10_000
MOST_UNSTORED_BYTES = 16 * 1024 * 1024
"""Events of one run that wait for a database that fails; a run with more cannot be kept whole, and ends as an error."""

MOST_BEHIND_BYTES = 4 * 1024 * 1024
"""Beyond so much that the database did not take yet, whoever can wait does."""

_log = logging.getLogger(__name__)


class Journal:
    """Calls a database from the event loop's side, in order.

    An event that could not be stored is kept, and stored with the next one of its run, at the latest with its end: a
    run that is said to be over has no gap.
    """

    def __init__(self, database: Database, room: Room) -> None:
        """Prepares the way; nothing is opened.

        Args:
            database: where to.
            room: what counts the events in memory, those that wait here among them.
        """
        self.room = room
        self._database = database
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="spanwise-database")
        self._pending: list[StoredEvent] = []
        self._behind_bytes = 0
        self._stored_some = asyncio.Event()
        self._unstored: dict[str, list[StoredEvent]] = {}
        self._lost: set[str] = set()
        self._flushing: asyncio.Task[None] | None = None
        self._waiting: list[Asked] = []
        self._working: asyncio.Task[None] | None = None
        self._is_ending = asyncio.Event()

    async def open(self) -> list[RunRecord]:
        """Opens the database and returns the runs that nobody finished."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._database.open)

    async def do(self, work: Callable[[Database], Result]) -> Result:
        """Returns what `work` returns, once it is durable. What was asked for earlier is done earlier.

        What waits at the same time becomes durable together: one sync of the disk for all of it.
        """
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((work, done))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await done

    async def do_at_last(self, work: Callable[[Database], Result]) -> Result:
        """Returns what `work` returns, tried again for half a minute if the database fails: for what must not be lost.

        A server of databases that is started anew is back by then.
        """
        for seconds in RETRY_SECONDS:
            try:
                return await self.do(work)
            except Exception as error:  # noqa: BLE001  # whatever the database raises, it is tried again
                _log.warning("the database failed, it is tried again in %g s: %s", seconds, type(error).__name__)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_ending.wait(), seconds)
                break
        return await self.do(work)

    def end(self) -> None:
        """Has whatever is tried again be tried once more, at once: the service is about to end."""
        self._is_ending.set()

    async def _work(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting[:MOST_TOGETHER], self._waiting[MOST_TOGETHER:]
            loop = asyncio.get_running_loop()
            outcomes = await loop.run_in_executor(self._thread, self._do_together, [work for work, _ in asked])
            for (_, done), (found, error) in zip(asked, outcomes, strict=True):
                if done.done():
                    continue  # nobody waits any more
                if error is None:
                    done.set_result(found)
                else:
                    done.set_exception(error)

    def _do_together(self, works: list[Callable[[Database], Any]]) -> list[tuple[Any, Exception | None]]:
        try:
            with self._database.together():
                return [(work(self._database), None) for work in works]
        except Exception:  # noqa: BLE001  # nothing was done; whose failure it is shows when each is alone
            return [self._do_alone(work) for work in works]

    def _do_alone(self, work: Callable[[Database], Any]) -> tuple[Any, Exception | None]:
        try:
            with self._database.together():
                return work(self._database), None
        except Exception as error:  # noqa: BLE001  # carried to the one who waits
            return None, error

    def add(self, event: StoredEvent) -> None:
        """Has an event stored soon."""
        self.room.take(_size([event]))
        self._behind_bytes += _size([event])
        self._pending.append(event)
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())

    async def caught_up(self) -> None:
        """Returns when little enough waits for the database that more may come."""
        while self._behind_bytes > MOST_BEHIND_BYTES:
            await self._stored_some.wait()

    async def flushed(self) -> None:
        """Returns when every event that was added is durable, or kept as one that could not be stored."""
        if self._flushing is not None:
            await asyncio.wait([self._flushing])

    def unstored(self, run_id: str) -> list[StoredEvent]:
        """Returns the events of a run that could not be stored yet, in order.

        Raises:
            StoreError: there were too many; the run cannot be kept whole.
        """
        if run_id in self._lost:
            raise StoreError(f"too many events of run {run_id} could not be stored")
        return list(self._unstored.get(run_id, ()))

    def forget(self, run_id: str) -> None:
        """Keeps no events of a run any more: they are stored, or will never be."""
        self.room.leave(_size(self._unstored.pop(run_id, ())))
        self._lost.discard(run_id)

    async def _flush(self) -> None:
        while self._pending:
            events, self._pending = self._pending, []
            size = _size(events)
            earlier = [each for run_id in {event[0] for event in events} for each in self._unstored.pop(run_id, ())]
            events = earlier + events
            try:
                await self.do(lambda database, events=events: database.add_events(events))  # type: ignore[misc]
            except Exception:  # noqa: BLE001  # whatever the database raises, the run goes on
                _log.exception("%d events of runs were not stored; they are kept and tried again", len(events))
                await asyncio.gather(*(self._store(own) for own in _by_run(events)))
            else:
                self.room.leave(_size(events))
            self._behind_bytes -= size
            self._stored_some.set()
            self._stored_some = asyncio.Event()

    async def _store(self, events: list[StoredEvent]) -> None:
        """Stores events of one run, or keeps them: one run's failure is not another's."""
        try:
            await self.do(lambda database: database.add_events(events))
        except Exception as error:  # noqa: BLE001  # logged with its cause, once for all runs
            run_id = events[0][0]
            _log.warning("%d events of run %s wait: %s", len(events), run_id, type(error).__name__)
            if len(events) > MOST_UNSTORED or _size(events) > MOST_UNSTORED_BYTES:
                self._lost.add(run_id)
                self.room.leave(_size(events))
            else:
                self._unstored[run_id] = events
        else:
            self.room.leave(_size(events))

    async def close(self) -> None:
        """Stores what waits, then closes the database."""
        await self.flushed()
        if self._working is not None:
            await asyncio.wait([self._working])
        await asyncio.get_running_loop().run_in_executor(self._thread, self._database.close)
        self._thread.shutdown()


def _size(events: Iterable[StoredEvent]) -> int:
    return sum(len(body) for _, _, _, body in events)


def _by_run(events: list[StoredEvent]) -> list[list[StoredEvent]]:
    found: dict[str, list[StoredEvent]] = {}
    for event in events:
        found.setdefault(event[0], []).append(event)
    return list(found.values())
