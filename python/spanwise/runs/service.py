"""The runs of one service: begun, followed, continued, cancelled, and found again."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import msgspec
from msgspec import Struct

from spanwise.components import Call, Component, Kind
from spanwise.components.adapters.base import Adapted
from spanwise.database import RunRecord, SessionRecord
from spanwise.database.records import UNFINISHED
from spanwise.errors import ConflictError, NotFoundError, StoreClosedError, UnavailableError
from spanwise.runs.active_run import Entry, LiveRun
from spanwise.runs.database_writer import Journal
from spanwise.runs.executor import Drive
from spanwise.runs.finalize import conclude, interrupt
from spanwise.runs.sessions import Sessions, label, may
from spanwise.runs.subscription import Following, next_index
from spanwise.traces.recording.recorder import TraceOrigin

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine, Mapping

    from spanwise.database import Database
    from spanwise.runs.memory_budget import Room
    from spanwise.traces.recording.recorder import Recorder, Recording

Result = TypeVar("Result")

CANCEL_SECONDS = 1.0
END_SECONDS = 0.5
_STATES = {
    "PENDING": "run is already running",
    "RUNNING": "run is already running",
    "COMPLETED": "run is already completed",
    "CANCELLED": "run is already cancelled",
    "ERROR": "run has errored",
}
_log = logging.getLogger(__name__)


class RunRequest(Struct, frozen=True, kw_only=True):
    """What is asked of a run, whoever reads it from which request.

    Attributes:
        message: what the component is asked.
        user_id: who asks, by the precedence of identity.
        session_id: the conversation, likewise; a new one if None.
        owner: the only user whose sessions and runs may be touched; None for everyone's.
        traceparent: the trace context of the request.
        session_state: what the session remembers from now on, beside what it does.
        dependencies: what the component needs to know for this run.
        metadata: what the caller says about this run; it stands in the result.
    """

    message: str = ""
    user_id: str | None = None
    session_id: str | None = None
    owner: str | None = None
    traceparent: str | None = None
    session_state: dict[str, Any] = {}
    dependencies: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class Runs:
    """Runs components. A run belongs to the service, not to the request that began it.

    Attributes:
        sessions: the conversations that runs belong to.
    """

    def __init__(self, database: Database, recorder: Recorder, limit: int, room: Room) -> None:
        """Prepares to run; nothing is opened.

        Args:
            database: where sessions, runs and events are kept.
            recorder: what makes their traces.
            limit: how many may run at once.
            room: what counts their events in memory.
        """
        self._journal = Journal(database, room)
        self.sessions = Sessions(self._journal, self)
        self._recorder = recorder
        self._limit = limit
        self._live: dict[str, LiveRun] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._opening: asyncio.Task[None] | None = None
        self._is_open = False
        self._is_closed = False

    @property
    def is_ready(self) -> bool:
        """Returns whether components are run."""
        return self._is_open

    @property
    def under_way(self) -> int:
        """Returns how many runs there are now."""
        return len(self._live)

    @property
    def event_bytes(self) -> int:
        """Returns how many bytes of events are in memory."""
        return self._journal.room.in_memory

    async def open(self) -> None:
        """Opens the database and marks the runs that an earlier process did not finish; a no-op when it is open.

        Raises:
            ConfigurationError: it cannot be opened.
        """
        await asyncio.shield(self._begin_to_open())

    def _begin_to_open(self) -> asyncio.Task[None]:
        if self._opening is None or (self._opening.done() and not self._is_open and not self._is_closed):
            self._opening = asyncio.create_task(self._open())
        return self._opening

    async def _open(self) -> None:
        unfinished = await self._journal.open()
        await asyncio.gather(*(interrupt(record, self._journal, self._recorder) for record in unfinished))
        if unfinished:
            _log.warning("%d runs were not finished when the service ended; they are marked", len(unfinished))
        self._is_open = True

    async def close(self) -> None:
        """Ends what still runs and closes the database. What ends so is marked as unfinished."""
        self._is_closed = True
        if not self._is_open:
            return
        self._is_open = False
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=END_SECONDS)
        self._journal.end()
        while self._tasks:
            for live in list(self._live.values()):
                live.is_interrupted = True
                live.stop()
            await asyncio.wait(self._tasks, timeout=END_SECONDS)
        await self._journal.close()

    async def _whole(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Returns what `work` returns; whoever stops waiting for it does not leave it half done."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def start(self, component: Component, asked: RunRequest) -> LiveRun:
        """Begins a run and returns it while it runs.

        Raises:
            NotFoundError: the session is another user's.
            UnavailableError: too many runs at once, or the service is not open.
        """
        return await self._whole(self._start(component, asked))

    async def _start(self, component: Component, asked: RunRequest) -> LiveRun:
        self._admit()
        now = int(time.time())
        session_id = asked.session_id or str(uuid4())
        session = SessionRecord(
            session_id=session_id,
            user_id=asked.user_id,
            kind=component.kind,
            component_id=component.id,
            name=label(asked.message),
            state={},
            metadata={},
            created_at=now,
            updated_at=now,
        )
        run_id = str(uuid4())
        identity = {"session.id": session_id, "user.id": asked.user_id}
        recording = self._recorder.begin(identity, asked.traceparent, None)
        record = RunRecord(
            run_id=run_id,
            session_id=session_id,
            user_id=asked.user_id,
            kind=component.kind,
            component_id=component.id,
            status="RUNNING",
            message=asked.message,
            result={},
            paused=None,
            trace=msgspec.to_builtins(recording.origin),
            created_at=now,
            updated_at=now,
        )
        session = await self._journal.do(lambda database: _begin(database, session, record, asked.owner))
        call = self._call(record, session, recording)
        call = replace(
            call,
            session_state={**call.session_state, **asked.session_state},
            given_state=asked.session_state,
            dependencies=asked.dependencies,
            metadata=asked.metadata,
        )
        return self._drive(component, call, record, recording, 0)

    async def go_on(
        self, component: Component, record: RunRecord, answers: tuple[Mapping[str, Any], ...], traceparent: str | None
    ) -> LiveRun:
        """Continues a paused run and returns it while it runs.

        Raises:
            ConflictError: it is not paused, or not any more.
            BadRequestError: the answers are none.
            ForbiddenError: somebody else has to answer first.
            UnavailableError: too many runs at once, or the service is not open.
        """
        return await self._whole(self._go_on(component, record, answers, traceparent))

    async def _go_on(
        self, component: Component, record: RunRecord, answers: tuple[Mapping[str, Any], ...], traceparent: str | None
    ) -> LiveRun:
        self._admit()
        self.expect_paused(record)
        if isinstance(component, Adapted):
            await component.check_answers((record.paused or {}).get("state"), answers)
        if not await self._journal.do(lambda database: database.move(record.run_id, ("PAUSED",), "RUNNING")):
            raise ConflictError(_STATES["RUNNING"])
        session = await self._journal.do(lambda database: database.session(record.session_id))
        if session is None:
            raise NotFoundError("Session not found")
        before = msgspec.convert(record.trace, TraceOrigin)
        identity = {"session.id": record.session_id, "user.id": record.user_id}
        recording = self._recorder.begin(identity, traceparent, before)
        paused = record.paused or {}
        call = self._call(record, session, recording).resumed(answers, record.run_id, paused.get("state"))
        call = replace(call, dependencies=paused.get("dependencies", {}), metadata=paused.get("metadata", {}))
        first_index = await self._journal.do(lambda database: next_index(database, record.run_id))
        return self._drive(component, call, record, recording, first_index)

    @staticmethod
    def expect_paused(record: RunRecord) -> None:
        """Accepts a run that waits for answers.

        Raises:
            ConflictError: it does not.
        """
        if record.status != "PAUSED":
            raise ConflictError(_STATES[record.status])

    async def cancel(self, kind: Kind, component_id: str, run_id: str, owner: str | None) -> None:
        """Ends a run, at once and durably; a no-op if it ended already.

        Raises:
            NotFoundError: there is no such run of that component, or not for this caller.
        """
        await self._whole(self._cancel(await self.record(kind, component_id, run_id, owner)))

    async def _cancel(self, record: RunRecord) -> None:
        run_id = record.run_id
        live = self._live.get(run_id)
        if live is not None:
            live.is_cancelled = True
        expected = (*UNFINISHED, "PAUSED")
        was_running = await self._journal.do(lambda database: database.move(run_id, expected, "CANCELLED"))
        if live is not None:
            live.stop()
            with suppress(TimeoutError):  # it is cancelled, whatever its end waits for
                await asyncio.wait_for(live.ended(), CANCEL_SECONDS)
        elif was_running:
            await conclude(record, "CANCELLED", self._journal)

    async def record(self, kind: Kind, component_id: str | None, run_id: str, owner: str | None) -> RunRecord:
        """Returns what is kept of one run.

        Args:
            kind: what the run must be of.
            component_id: the component it must be of; None for any.
            run_id: the run.
            owner: the only user whose run it may be; None for everyone's.

        Raises:
            NotFoundError: there is no such run of that component, or not for this caller.
        """
        self.expect_open()
        found = await self._journal.do(lambda database: database.run(run_id))
        if found is None or found.kind != kind or not may(owner, found.user_id):
            raise NotFoundError("Run not found")
        if component_id is not None and found.component_id != component_id:
            raise NotFoundError("Run not found")
        return found

    async def records(self, session_id: str, owner: str | None) -> list[RunRecord]:
        """Returns the runs of a session, the oldest first.

        Raises:
            NotFoundError: there is no such session, or not for this caller.
        """
        if await self.sessions.visible(session_id, owner) is None:
            raise NotFoundError("Session not found")
        found = await self._journal.do(lambda database: database.runs(session_id))
        return [record for record in found if may(owner, record.user_id)]

    def is_under_way(self, session_id: str) -> bool:
        """Returns whether a run of a session is under way."""
        return any(live.session_id == session_id for live in self._live.values())

    def follow(self, live: LiveRun) -> AsyncGenerator[Entry, None]:
        """Gives the events of a run that has just begun or gone on, until it ends or pauses."""
        return Following(self._journal, live.run_id, live).after(live.first_index - 1)

    def follow_again(self, run_id: str, after: int) -> AsyncGenerator[Entry, None]:
        """Gives the events of any run with a greater index, and says what it gives; see `Following.again`.

        Args:
            run_id: the run; that the caller may see it was checked before.
            after: an index; -1 for all events.
        """
        return Following(self._journal, run_id, self._live.get(run_id)).again(after)

    @staticmethod
    def _call(record: RunRecord, session: SessionRecord, recording: Recording) -> Call:
        return Call(
            message=record.message,
            run_id=record.run_id,
            session_id=record.session_id,
            user_id=record.user_id,
            spans=recording,
            emit_event=lambda _event: None,
            session_state=dict(session.state),
        )

    def _drive(
        self, component: Component, call: Call, record: RunRecord, recording: Recording, first_index: int
    ) -> LiveRun:
        ids = record.run_id, record.session_id
        live = LiveRun(ids, first_index, self._journal, keeps_events=component.store_events)
        call = replace(call.with_listener(live.emit), caught_up=self._journal.caught_up)
        drive = Drive(
            component=component, call=call, record=record, live=live, recording=recording, journal=self._journal
        )
        self._live[record.run_id] = live
        task = asyncio.create_task(drive.run(), name=f"run {record.run_id}")
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._leave(record.run_id, done))
        return live

    def _leave(self, run_id: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._live.pop(run_id, None)

    def expect_open(self) -> None:
        """Lets pass what needs the database.

        Raises:
            UnavailableError: it is not open.
        """
        if self._is_closed:
            raise StoreClosedError("the service is shutting down")
        if not self._is_open:
            self._begin_to_open().add_done_callback(_log_failure)
            raise UnavailableError("the database of runs is being opened")

    def _admit(self) -> None:
        self.expect_open()
        if len(self._live) >= self._limit:
            raise UnavailableError(f"more than {self._limit} runs at once")
        self._journal.room.admit()


def _begin(database: Database, session: SessionRecord, run: RunRecord, owner: str | None) -> SessionRecord:
    """Begins a run, unless its session is another's; both in one step, so that nobody enters it between."""
    found = database.session(session.session_id)
    if found is not None and not may(owner, found.user_id):
        raise NotFoundError("Session not found")
    return database.begin(session, run)


def _log_failure(opening: asyncio.Task[None]) -> None:
    if not opening.cancelled() and opening.exception() is not None:
        _log.error("the database of runs cannot be opened: %s", opening.exception())
