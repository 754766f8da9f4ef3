"""Access to the run database through one thread, with batched transactions and a queue of events to store."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from spanwise.errors import BadRequestError, DatabaseAwayError, RecordDamagedError, StoreError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from spanwise.database import Database, RunRecord
    from spanwise.fair_budget import FairBudget, Lease

Result = TypeVar("Result")
StoredEvent: TypeAlias = tuple[str, int, str, bytes]
"""Run id, index, name and JSON of one event."""

Transaction: TypeAlias = "tuple[Callable[[Database], Any], asyncio.Future[Any]]"
"""A function of the database, and the future of its result."""

MAX_BATCH = 256
"""Functions that are committed together."""
RETRY_SECONDS = (0.05, 0.25, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Pauses between attempts. The last one is repeated."""
MAX_UNSTORED_EVENTS = 10_000
MAX_UNSTORED_BYTES = 16 * 1024 * 1024
"""Event bytes of one run that are kept while the database fails. A run with more cannot be stored completely, so it
fails."""

MAX_PENDING_BYTES = 4 * 1024 * 1024
"""The limit on queued event bytes above which `caught_up` waits."""

_log = logging.getLogger(__name__)


class QueuedEvent(NamedTuple):
    """An event that is not stored yet, and the lease of the run's caller on the budget."""

    event: StoredEvent
    lease: Lease

    @property
    def run_id(self) -> str:
        """Returns the run that it belongs to."""
        return self.event[0]

    @property
    def size(self) -> int:
        """Returns its size in bytes."""
        return len(self.event[3])


class DatabaseWriter:
    """Calls a blocking database from the event loop, in order.

    Events are queued and stored in batches. An event that could not be stored is kept. It is stored with the next event
    of its run, or at the latest with the run's end, so an ended run has no gaps.

    Attributes:
        budget: divides the bytes of events in memory, including queued ones, among callers. A caller at its share
            cannot start another run. Its active runs continue, but they and their subscriptions keep fewer events that
            the database already has. `caught_up` limits the events that are not written yet.
    """

    def __init__(
        self,
        connect: Callable[[], Database],
        budget: FairBudget,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Creates a writer without opening the database.

        Args:
            connect: returns the closed database. Called once, in the thread, before the database is opened.
            budget: divides the bytes of events in memory.
            sleep: waits for a number of seconds.
        """
        self.budget = budget
        self._connect = connect
        self._connected: Database | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="spanwise-database")
        self._pending: list[QueuedEvent] = []
        self._pending_bytes = 0
        self._progress = asyncio.Event()
        self._unstored: dict[str, list[QueuedEvent]] = {}
        self._lost: set[str] = set()
        self._flushing: asyncio.Task[None] | None = None
        self._transactions: list[Transaction] = []
        self._committing: asyncio.Task[None] | None = None
        self._is_stopping = asyncio.Event()
        self._sleep = sleep
        self._is_away = False
        self._is_back = asyncio.Event()

    def prepare(self) -> None:
        """Starts to import the database driver. `open` tries again after an error, and raises it."""
        self._thread.submit(self._prepare)

    async def open(self) -> list[RunRecord]:
        """Opens the database and returns the unfinished runs.

        Raises:
            ConfigurationError: the database cannot be opened.
            StoreLockedError: another process has it open.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._open)

    def _open(self) -> list[RunRecord]:
        return self._prepare().open()

    def _prepare(self) -> Database:
        if self._connected is None:
            self._connected = self._connect()
        return self._connected

    @property
    def _database(self) -> Database:
        assert self._connected is not None, "opened before it is used"  # noqa: S101  # callers open it first
        return self._connected

    async def transact(self, work: Callable[[Database], Result]) -> Result:
        """Returns the result of `work` once its changes are durable. Earlier calls are committed first.

        Calls that wait at the same time are committed together, with one disk sync.

        Raises:
            Exception: the error of `work` or of the commit.
        """
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._transactions.append((work, done))
        if self._committing is None or self._committing.done():
            self._committing = asyncio.create_task(self._commit())
        return await done

    async def transact_with_retries(
        self, work: Callable[[Database], Result], on_retry: Callable[[int], None] = lambda _: None
    ) -> Result:
        """Does the same, and retries with back-off while the database is unavailable, and at once when it is back.

        Errors that do not concern the whole database are retried for half a minute.

        Args:
            work: a function of the database.
            on_retry: called before every pause with the number of failed attempts.

        Raises:
            Exception: the error of the last attempt. The service is shutting down, or more attempts would not help.
        """
        failed = 0
        while True:
            is_last = self._is_stopping.is_set()
            try:
                return await self.transact(work)
            except (BadRequestError, RecordDamagedError):
                raise
            except Exception as error:
                failed += 1
                if is_last or (failed > len(RETRY_SECONDS) and not isinstance(error, UnavailableError)):
                    raise
                _log.log(
                    logging.WARNING if failed == 1 else logging.DEBUG,
                    "the database failed %d times, it is retried: %s",
                    failed,
                    type(error).__name__,
                )
            on_retry(failed)
            await self._pause(RETRY_SECONDS[min(failed, len(RETRY_SECONDS)) - 1])

    async def _pause(self, seconds: float) -> None:
        """Waits for some seconds, or until the database is back or the service shuts down."""
        ends = [self._sleep(seconds), self._is_back.wait(), self._is_stopping.wait()]
        waiting = [asyncio.ensure_future(each) for each in ends]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()

    def stop_retrying(self) -> None:
        """Ends all pauses and allows one last attempt each, because the service is shutting down."""
        self._is_stopping.set()

    async def _commit(self) -> None:
        while self._transactions:
            batch, self._transactions = self._transactions[:MAX_BATCH], self._transactions[MAX_BATCH:]
            loop = asyncio.get_running_loop()
            outcomes = await loop.run_in_executor(self._thread, self._commit_batch, [work for work, _ in batch])
            self._note([error for _, error in outcomes])
            for (_, done), (result, error) in zip(batch, outcomes, strict=True):
                if done.done():
                    continue  # the caller was cancelled
                if error is None:
                    done.set_result(result)
                else:
                    done.set_exception(error)

    def _note(self, errors: list[Exception | None]) -> None:
        """Ends the pauses between retries when the database is available again."""
        if any(isinstance(error, DatabaseAwayError) for error in errors):
            self._is_away = True
        elif self._is_away and None in errors:
            self._is_away = False
            self._is_back.set()
            self._is_back = asyncio.Event()

    def _commit_batch(self, works: list[Callable[[Database], Any]]) -> list[tuple[Any, Exception | None]]:
        try:
            with self._database.together():
                return [(work(self._database), None) for work in works]
        except DatabaseAwayError as error:  # no other call would succeed, and each might wait for the network
            return [(None, DatabaseAwayError(str(error))) for _ in works]
        except Exception:  # noqa: BLE001  # all were rolled back, so each is retried alone
            return [self._commit_alone(work) for work in works]

    def _commit_alone(self, work: Callable[[Database], Any]) -> tuple[Any, Exception | None]:
        try:
            with self._database.together():
                return work(self._database), None
        except Exception as error:  # noqa: BLE001  # raised again in the caller
            return None, error

    def add_event(self, event: StoredEvent, lease: Lease) -> None:
        """Queues an event to be stored, and counts its bytes until then.

        Args:
            event: the event.
            lease: the lease of the run's caller on the budget.
        """
        size = len(event[3])
        lease.count(size)
        self._pending_bytes += size
        self._pending.append(QueuedEvent(event, lease))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())

    async def caught_up(self) -> None:
        """Waits until at most `MAX_PENDING_BYTES` of events are queued."""
        while self._pending_bytes > MAX_PENDING_BYTES:
            await self._progress.wait()

    async def flushed(self) -> None:
        """Waits until every queued event is durable or has failed."""
        if self._flushing is not None:
            await asyncio.wait([self._flushing])

    def unstored_events(self, run_id: str) -> list[StoredEvent]:
        """Returns the events of a run that could not be stored so far, in order.

        Raises:
            StoreError: too many events could not be kept, so the run cannot be stored completely.
        """
        if run_id in self._lost:
            raise StoreError(f"too many events of run {run_id} could not be stored")
        return [queued.event for queued in self._unstored.get(run_id, ())]

    def discard_unstored(self, run_id: str) -> None:
        """Forgets the unstored events of a run, because they are stored now or never will be."""
        _release(self._unstored.pop(run_id, ()))
        self._lost.discard(run_id)

    async def _flush(self) -> None:
        while self._pending:
            queued, self._pending = self._pending, []
            size = _size(queued)
            earlier = [each for run_id in {each.run_id for each in queued} for each in self._unstored.pop(run_id, ())]
            queued = earlier + queued
            events = [each.event for each in queued]
            try:
                await self.transact(lambda database, events=events: database.add_events(events))  # type: ignore[misc]
            except Exception:  # noqa: BLE001  # the run continues after any database error
                _log.exception("%d events of runs were not stored; they will be retried", len(events))
                await asyncio.gather(*(self._store(own) for own in _by_run(queued)))
            else:
                _release(queued)
            self._pending_bytes -= size
            self._progress.set()
            self._progress = asyncio.Event()

    async def _store(self, queued: list[QueuedEvent]) -> None:
        """Stores the events of one run, or keeps them after a failure, which then does not affect other runs."""
        events = [each.event for each in queued]
        try:
            await self.transact(lambda database: database.add_events(events))
        except Exception as error:  # noqa: BLE001  # the cause was logged for all runs
            run_id = queued[0].run_id
            _log.warning("%d events of run %s are not stored yet: %s", len(events), run_id, type(error).__name__)
            if len(queued) > MAX_UNSTORED_EVENTS or _size(queued) > MAX_UNSTORED_BYTES:
                self._lost.add(run_id)
                _release(queued)
            else:
                self._unstored[run_id] = queued
        else:
            _release(queued)

    async def close(self) -> None:
        """Stores queued events, completes pending transactions and closes the database."""
        await self.flushed()
        if self._committing is not None:
            await asyncio.wait([self._committing])
        await asyncio.get_running_loop().run_in_executor(self._thread, self._database.close)
        self._thread.shutdown()


def _size(queued: Iterable[QueuedEvent]) -> int:
    return sum(each.size for each in queued)


def _release(queued: Iterable[QueuedEvent]) -> None:
    for each in queued:
        each.lease.count(-each.size)


def _by_run(queued: list[QueuedEvent]) -> list[list[QueuedEvent]]:
    found: dict[str, list[QueuedEvent]] = {}
    for each in queued:
        found.setdefault(each.run_id, []).append(each)
    return list(found.values())
