"""The runs of one service: start, resumption, cancellation, subscription and lookup."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from spanwise.components import Call
from spanwise.components.answers import PausedCall, check_answers
from spanwise.components.events import requirements_member
from spanwise.database import unique_session_id
from spanwise.database.records import UNFINISHED
from spanwise.errors import ConflictError, NotFoundError, StoreClosedError
from spanwise.fair_budget import FairBudget
from spanwise.runs.active_run import ActiveRun
from spanwise.runs.executor import Executor
from spanwise.runs.finalize import end_if_unfinished, end_interrupted, store_end
from spanwise.runs.opening import Opening
from spanwise.runs.request import new_run, new_session
from spanwise.runs.run_tasks import RunTasks
from spanwise.runs.sessions.component_databases import ComponentDatabases
from spanwise.runs.sessions.lookup import begin_run
from spanwise.runs.sessions.service import Sessions, is_visible_to
from spanwise.runs.storage.probe import DatabaseProbe
from spanwise.runs.storage.writer import DatabaseWriter
from spanwise.runs.subscription import Subscription, next_index
from spanwise.traces.recording.origin import TraceOrigin

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from spanwise.components import Component, Kind
    from spanwise.database import Database, RunRecord, SessionKey, SessionRecord
    from spanwise.fair_budget import Lease
    from spanwise.registry import Registry
    from spanwise.runs.active_run import RunEvent
    from spanwise.runs.request import ResumeRequest, RunRequest
    from spanwise.traces.recording.recorder import Recorder, Recording

CANCEL_SECONDS = 1.0
"""How long a cancellation waits for the run to end."""
INTERRUPTED_SECONDS = 10.0
"""How long the start waits until interrupted runs are marked. An unavailable or read-only database takes longer."""
SHUTDOWN_SECONDS = 0.5
"""How long a shutdown waits for runs to end by themselves, and then between rounds of interruption."""
_CONFLICTS = {
    "PENDING": "run is already running",
    "RUNNING": "run is already running",
    "COMPLETED": "run is already completed",
    "CANCELLED": "run is already cancelled",
    "ERROR": "run has errored",
}
_log = logging.getLogger(__name__)


class Runs:
    """Runs components. A run belongs to the service, not to the request that started it.

    Attributes:
        sessions: the sessions that runs belong to.
        is_draining: True once the service is shutting down, so that no run is started or resumed.
    """

    def __init__(
        self,
        connect: Callable[[], Database],
        registry: Registry,
        record: Callable[[], Recorder],
        limit: int,
        budget: FairBudget,
    ) -> None:
        """Creates the service without opening the database.

        Args:
            connect: returns the database of sessions, runs and events; called once, in a thread, when it is opened.
            registry: the hosted components, whose databases also keep sessions.
            record: returns the recorder of run traces; called once, at the first run.
            limit: the number of concurrent runs, which is divided among callers.
            budget: divides the bytes of inputs and events in memory among the callers that started the runs.
        """
        self._writer = DatabaseWriter(connect, budget)
        self.sessions = Sessions(self._writer, self, ComponentDatabases(registry))
        self._record = record
        self._slots = FairBudget(limit, f"more than {limit} runs at once")
        self._tasks = RunTasks()
        self._opening = Opening(self._open)
        self._probe = DatabaseProbe(self._writer)
        self.is_draining = False

    @cached_property
    def _recorder(self) -> Recorder:
        return self._record()

    async def not_ready(self) -> str | None:
        """Returns why runs cannot be stored now; None if they can."""
        return await self._probe.failure() if self._opening.is_open else self._opening.not_open

    @property
    def under_way(self) -> int:
        """Returns the number of active runs."""
        return len(self._tasks)

    @property
    def event_bytes(self) -> int:
        """Returns the bytes of inputs and events in memory."""
        return self._writer.budget.used

    def prepare(self) -> None:
        """Starts to import the database driver in a thread, while other parts are opened."""
        self._writer.prepare()

    async def open(self) -> None:
        """Opens the database and ends the runs that an earlier process left unfinished; a no-op when it is open.

        Raises:
            ConfigurationError: the database cannot be opened.
            StoreLockedError: another process has it open.
        """
        await self._opening.open()

    async def opened(self) -> None:
        """Waits until the database is open; see `Opening.wait`."""
        await self._opening.wait()

    async def _open(self) -> None:
        unfinished = await self._writer.open()
        if unfinished:
            _log.warning("%d runs were unfinished when the service ended; they are marked as errors", len(unfinished))
            ends = [self._tasks.begin(end_interrupted(each, self._writer, self._recorder)) for each in unfinished]
            await asyncio.wait(ends, timeout=INTERRUPTED_SECONDS)

    def drain(self) -> None:
        """Stops starting and resuming runs. Active runs continue until `close`."""
        self.is_draining = True

    async def close(self) -> None:
        """Interrupts the runs that do not end soon, stores all of them and closes the database."""
        if not await self._opening.close():
            return
        await self._tasks.wait(SHUTDOWN_SECONDS)
        self._writer.stop_retrying()
        await self._tasks.interrupt(SHUTDOWN_SECONDS)
        await self._writer.close()

    async def start(self, component: Component, request: RunRequest) -> ActiveRun:
        """Starts a run and returns it.

        Raises:
            ConflictError: several users have a session with that id, or it is being deleted.
            UnavailableError: too many runs or event bytes are in memory, or the service is not open.
        """
        return await self._tasks.shielded(
            self._within_capacity(request, lambda inputs: self._start(component, request, inputs))
        )

    async def _start(self, component: Component, request: RunRequest, inputs: Lease) -> ActiveRun:
        now = int(time.time())
        session_id = request.session_id or str(uuid4())
        identity = {"session.id": session_id, "user.id": request.user_id}
        recording = self._recorder.begin(identity, request.traceparent, None)
        session = new_session(component, request, session_id, now)
        record = new_run(component, request, (str(uuid4()), session_id), recording.origin, now)

        def begin(database: Database) -> tuple[SessionRecord, RunRecord]:
            stored = begin_run(database, session, record, is_verified=request.is_verified)
            self.sessions.expect_not_deleting(stored[0].key)  # otherwise the transaction is rolled back
            return stored

        undo = partial(end_if_unfinished, run_id=record.run_id)
        session, record = await self._tasks.begin_run(self._writer, record.run_id, begin, undo)
        inputs.count(_size(session.state))
        call = self._call(record, session, recording)
        call = replace(
            call,
            session_state={**call.session_state, **request.session_state},
            given_state=request.session_state,
            dependencies=request.dependencies,
            metadata=request.metadata,
            stream=request.stream,
        )
        return self._execute(component, call, record, recording, 0)

    async def resume(self, component: Component, record: RunRecord, request: ResumeRequest) -> ActiveRun:
        """Resumes a paused run and returns it.

        Args:
            component: the component of the run.
            record: the run.
            request: the answers, and how the run continues.

        Raises:
            ConflictError: the run is not paused, or another caller has resumed it.
            BadRequestError: the answers do not match the questions of the run.
            ForbiddenError: another user has to answer first.
            NotFoundError: its session was deleted.
            UnavailableError: too many runs or event bytes are in memory, or the service is not open.
        """
        resumed = self._within_capacity(request, lambda inputs: self._resume(component, record, request, inputs))
        return await self._tasks.shielded(resumed)

    async def _within_capacity(
        self, request: RunRequest | ResumeRequest, begin: Callable[[Lease], Awaitable[ActiveRun]]
    ) -> ActiveRun:
        """Takes a slot and the memory of the input, until the run that `begin` starts has ended.

        The run's data in the database also counts, but its size is known only later. It keeps the caller from starting
        another run.

        Raises:
            UnavailableError: too many runs or bytes of runs are in memory, or the service is not open.
        """
        await self._opened_for_runs()
        slot, inputs = self._slots.hold(), self._writer.budget.hold()
        try:
            slot.add(1)
            inputs.add(_size(request))
            active = await begin(inputs)
        except BaseException:  # a client that disconnects cancels this
            slot.release()
            inputs.release()
            raise
        self._tasks.release_at_end(active, slot, inputs)
        return active

    async def _resume(
        self, component: Component, record: RunRecord, request: ResumeRequest, inputs: Lease
    ) -> ActiveRun:
        self.expect_paused(record)
        paused = record.paused or {}
        requirements = record.result.get(requirements_member(component.kind), ())
        answers = await check_answers(component, PausedCall(paused.get("state"), requirements), request.answers)

        def begin(database: Database) -> tuple[SessionRecord, int]:
            self.sessions.expect_not_deleting(record.session_key)
            session = database.session(record.session_key)
            if session is None:
                raise NotFoundError("Session not found")
            if not database.move(record.run_id, ("PAUSED",), "RUNNING"):
                raise ConflictError(_CONFLICTS["RUNNING"])
            return session, next_index(database, record.run_id)

        def undo(database: Database) -> None:
            database.move(record.run_id, ("RUNNING",), "PAUSED")

        session, first_index = await self._tasks.begin_run(self._writer, record.run_id, begin, undo)
        inputs.count(_size((session.state, record.message, paused)))
        origin = msgspec.convert(record.trace, TraceOrigin)
        identity = {"session.id": record.session_id, "user.id": record.user_id}
        recording = self._recorder.begin(identity, request.traceparent, origin)
        call = self._call(record, session, recording).resumed(answers, record.run_id, paused.get("state"))
        given = {name: paused.get(name, {}) for name in ("dependencies", "metadata")}
        call = replace(call, stream=request.stream, **given)
        return self._execute(component, call, record, recording, first_index)

    @staticmethod
    def expect_paused(record: RunRecord) -> None:
        """Checks that a run waits for answers.

        Raises:
            ConflictError: the run is not paused.
        """
        if record.status != "PAUSED":
            raise ConflictError(_CONFLICTS[record.status])

    async def cancel(self, kind: Kind, component_id: str, run_id: str, owner: str | None) -> None:
        """Cancels a run durably, whether it is in progress or paused; a no-op if it has already ended.

        Args:
            kind: the kind of its component.
            component_id: its component.
            run_id: the run.
            owner: the only user whose runs the caller may access; None for everyone's.

        Raises:
            NotFoundError: the component has no such run, or the caller may not access it.
        """
        await self._tasks.shielded(self._cancel(await self.record(kind, component_id, run_id, owner)))

    async def _cancel(self, record: RunRecord) -> None:
        run_id = record.run_id
        active = self._tasks.get(run_id)
        expected = (*UNFINISHED, "PAUSED")

        def store(database: Database) -> None:
            if database.move(run_id, expected, "CANCELLED") and active is None:
                store_end(database, record, "CANCELLED")

        if active is not None:
            active.is_cancelled = True
        await self._writer.transact(store)
        if active is not None:
            active.stop()
            with suppress(TimeoutError):  # the cancellation is durable, even if the end of the run takes longer
                await asyncio.wait_for(active.ended(), CANCEL_SECONDS)

    async def record(self, kind: Kind, component_id: str | None, run_id: str, owner: str | None) -> RunRecord:
        """Returns the record of one run.

        Args:
            kind: the kind of its component.
            component_id: its component; None for any.
            run_id: the run.
            owner: the only user whose runs the caller may access; None for everyone's.

        Raises:
            NotFoundError: the component has no such run, or the caller may not access it.
            UnavailableError: the database is not open.
        """
        await self.opened()
        found = await self._writer.transact(lambda database: database.run(run_id))
        if found is None or not is_visible_to(owner, found.user_id):
            raise NotFoundError("Run not found")
        is_of_component = found.kind == kind and component_id in (None, found.component_id)
        if not is_of_component and not found.is_damaged:
            raise NotFoundError("Run not found")
        return found

    def is_session_active(self, session: SessionKey) -> bool:
        """Returns True if a run of a session is active."""
        return self._tasks.is_session_active(session)

    def subscribe(self, active: ActiveRun) -> AsyncGenerator[RunEvent, None]:
        """Yields the events of a run that has just started or resumed, until it ends or pauses."""
        return Subscription(self._writer, active.run_id, active).events_after(active.first_index - 1)

    def resubscribe(self, run_id: str, after: int) -> AsyncGenerator[RunEvent, None]:
        """Yields the events of any run after an index, with announcements; see `Subscription.replay_after`.

        Args:
            run_id: the run; the caller is responsible for authorization.
            after: an index; -1 for all events.
        """
        return Subscription(self._writer, run_id, self._tasks.get(run_id)).replay_after(after)

    @staticmethod
    def _call(record: RunRecord, session: SessionRecord, recording: Recording) -> Call:
        return Call(
            message=record.message,
            run_id=record.run_id,
            session_id=record.session_id,
            unique_session_id=unique_session_id(session, record.user_id),
            user_id=record.user_id,
            spans=recording,
            emit_event=lambda _event: None,
            session_state=dict(session.state or {}),
            stored_state=session.state,
        )

    def _execute(
        self, component: Component, call: Call, record: RunRecord, recording: Recording, first_index: int
    ) -> ActiveRun:
        ids = record.run_id, record.session_key
        active = ActiveRun(ids, first_index, self._writer, keeps_events=component.store_events)
        call = replace(call.with_listener(active.emit), caught_up=self._writer.caught_up)
        executor = Executor(
            component=component, call=call, record=record, active=active, recording=recording, writer=self._writer
        )
        self._tasks.start(executor)
        return active

    async def _opened_for_runs(self) -> None:
        await self.opened()
        if self.is_draining:
            raise StoreClosedError("the service is shutting down")


def _size(value: object) -> int:
    """Returns the size of a value as JSON, in bytes."""
    return len(msgspec.json.encode(value))
