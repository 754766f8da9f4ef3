"""Driving one run from its call to its end: performed, recorded, stored, and only then said to be over."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from spanwise.components.base import Kind, Outcome
from spanwise.components.callables import as_exception
from spanwise.components.content import plain
from spanwise.components.execution import FAILURE, emit_end, emit_failure, execute
from spanwise.components.result import result_of
from spanwise.errors import ComponentError
from spanwise.runs.finalize import INTERRUPTED

if TYPE_CHECKING:
    from spanwise.components import Call, Component
    from spanwise.database import Database, RunRecord
    from spanwise.runs.active_run import Entry, LiveRun
    from spanwise.runs.database_writer import Journal
    from spanwise.traces.recording.recorder import Recording

GRACE_SECONDS = 0.5
"""How long a component may take to end after it was told to; then its run ends without it."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Drive:
    """One run that is under way.

    Attributes:
        component: what runs.
        call: what it is called with.
        record: what the database has of it.
        live: its events.
        recording: its trace.
        journal: the way to the database.
    """

    component: Component
    call: Call
    record: RunRecord
    live: LiveRun
    recording: Recording
    journal: Journal

    async def run(self) -> None:
        """Runs the component to its end, and says so when all of it can be found."""
        started = time.monotonic()
        try:
            outcome = await self._perform()
            self.live.shut()
            is_traced = await self.recording.end(self._failure_of(outcome))
            duration = {"duration": round(time.monotonic() - started, 6)}
            steps: dict[str, Any] = {"steps": {}} if self.component.kind is Kind.WORKFLOW else {}
            members = {"metrics": steps | duration}
            traced = {"trace_id": self.recording.trace_id} if is_traced else {}
            await self._finish(outcome, members, {**self.call.metadata, **traced})
        except Exception as error:  # noqa: BLE001  # whatever the database raises, those who wait must not wait on
            _log.exception("run %s could not be stored", self.live.run_id)
            self.live.error = error
        finally:
            self.journal.forget(self.live.run_id)
            self.live.end()

    async def _perform(self) -> Outcome:
        """Returns what became of the component; what escaped it stands in `live.error`."""
        performing = asyncio.create_task(_guarded(self.component, self.call))
        stopping = asyncio.create_task(self.live.stopped())
        await asyncio.wait([performing, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not performing.done():
            performing.cancel()
            await asyncio.wait([performing], timeout=GRACE_SECONDS)
        if self.live.is_cancelled or self.live.is_interrupted or not performing.done():
            _forget(performing)
            return Outcome()
        if performing.cancelled():
            self.live.error = RuntimeError("the component cancelled itself")
            return Outcome()
        self.live.error = performing.exception()
        if self.live.error is not None:
            _log.error("run %s failed", self.live.run_id, exc_info=self.live.error)
            return Outcome()
        return performing.result()

    def _failure_of(self, outcome: Outcome) -> str | None:
        """Returns what the trace says of a run that did not end well; None of one that did."""
        if self.live.is_cancelled:
            return "the run was cancelled"
        if self.live.is_interrupted:
            return INTERRUPTED
        if self.live.error is not None:
            return f"{type(self.live.error).__name__}: {self.live.error}"
        return None if outcome.reported is None else outcome.reported.failure

    async def _finish(self, outcome: Outcome, members: dict[str, Any], metadata: dict[str, Any]) -> None:
        await self.journal.flushed()
        status, last = self._end(outcome, members, metadata)
        result = result_of(self.component, self.call, outcome, status)
        result["metadata"] = {**result.get("metadata", {}), **metadata}
        result |= {"session_state": _remembered(self.call.session_state)} | (
            members if outcome.reported is None else {}
        )
        if self.live.error is not None or self.live.is_interrupted:
            result["content"] = INTERRUPTED if self.live.is_interrupted else FAILURE
        if self.component.store_events:
            result["events"] = [*self.live.kept, msgspec.Raw(last.body)]
        record = msgspec.structs.replace(
            self.record,
            status=status,
            result=result,
            paused=self._to_go_on(outcome),
            trace=msgspec.to_builtins(self.recording.origin),
            updated_at=int(time.time()),
        )

        unstored = self.journal.unstored(record.run_id)

        def store(database: Database) -> None:
            database.end(record, result["session_state"])
            database.add_events([*unstored, (record.run_id, last.index, last.name, last.body)])

        await self.journal.do_at_last(store)
        self.live.result = result
        self.live.publish(last)

    def _to_go_on(self, outcome: Outcome) -> dict[str, Any] | None:
        """Returns what the run needs to go on after a pause; None if it is over."""
        if outcome.pause is None:
            return None
        asked = {"dependencies": dict(self.call.dependencies), "metadata": dict(self.call.metadata)}
        return {"state": outcome.pause.state, **asked}

    def _end(self, outcome: Outcome, members: dict[str, Any], metadata: dict[str, Any]) -> tuple[str, Entry]:
        """Returns the status, and the event that says so, as they are now."""
        said: list[dict[str, Any]] = []
        call = self.call.with_listener(said.append)
        if self.live.is_cancelled:
            status = "CANCELLED"
            call.emit(self.component, "*Cancelled", reason="the run was cancelled")
        elif self.live.error is not None or self.live.is_interrupted:
            status = "ERROR"
            emit_failure(self.component, call)
        else:
            status = outcome.status
            extra = members if status == "COMPLETED" and outcome.reported is None else {}
            emit_end(self.component, call, outcome, metadata=metadata, **extra)
        return status, self.live.entry(said[-1])


async def _guarded(component: Component, call: Call) -> Outcome:
    """Performs; nothing that a component raises ends the event loop."""
    try:
        outcome = await execute(component, call)
        plain(outcome.content), plain(outcome.parts)
    except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        raise as_exception(error) from error
    return outcome


def _forget(performing: asyncio.Task[Outcome]) -> None:
    """Takes note of how a task ended that nobody waits for, so that nothing is said of it later."""
    performing.add_done_callback(lambda task: None if task.cancelled() else task.exception())


def _remembered(state: dict[str, Any]) -> dict[str, Any]:
    """Returns what a session remembers, as JSON can hold it; nothing if it cannot."""
    try:
        found: dict[str, Any] = plain(dict(state))
    except ComponentError:
        _log.exception("a session's state was not kept")
        return {}
    return found
