"""The execution of one run: runs the component, stores trace and result, and only then publishes the end."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from spanwise.components.base import Kind, Outcome, Pause
from spanwise.components.callables import as_exception
from spanwise.components.content import plain
from spanwise.components.events import requirements_member
from spanwise.components.execution import CANCELLED, FAILURE, emit_end, emit_failure, execute
from spanwise.components.result import result_of
from spanwise.errors import AnswerError, ComponentError, RunFailedError
from spanwise.runs.finalize import INTERRUPTED
from spanwise.runs.run_end import RunEnd

if TYPE_CHECKING:
    from spanwise.components import Call, Component
    from spanwise.database import RunRecord
    from spanwise.runs.active_run import ActiveRun, RunEvent
    from spanwise.runs.storage.writer import DatabaseWriter
    from spanwise.traces.recording.recorder import Recording

GRACE_SECONDS = 0.5
"""How long a component may take to end after its cancellation. Then its run ends without it."""

_PARTS = ("member_responses", "step_results", "step_executor_runs")
"""The members that a team or workflow adds to a result: its `Outcome.parts`."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Executor:
    """Executes one run.

    Attributes:
        component: the component to execute.
        call: its input.
        record: the run as stored in the database.
        active: the run in progress.
        recording: its trace.
        writer: stores its end.
    """

    component: Component
    call: Call
    record: RunRecord
    active: ActiveRun
    recording: Recording
    writer: DatabaseWriter

    async def run(self) -> None:
        """Executes the component, and publishes the end of the run once its trace and result can be found."""
        started = time.monotonic()
        try:
            outcome = await self._execute()
            self.active.reject_events()
            is_traced = await self.recording.end(self._failure_of(outcome))
            duration = {"duration": round(time.monotonic() - started, 6)}
            steps: dict[str, Any] = {"steps": {}} if self.component.kind is Kind.WORKFLOW else {}
            members = {"metrics": steps | duration}
            traced = {"trace_id": self.recording.trace_id} if is_traced else {}
            await self._finish(outcome, members, {**self.call.metadata, **traced})
        except Exception as error:  # noqa: BLE001  # callers must not wait forever after any database error
            _log.exception("run %s could not be stored; the next start marks it as an error", self.active.run_id)
            self.active.error = error
        finally:
            self.writer.discard_unstored(self.active.run_id)
            self.active.end()

    async def _execute(self) -> Outcome:
        """Returns the outcome of the component; empty if it did not end by itself.

        An error of the component becomes `active.error`.
        """
        executing = asyncio.create_task(_execute_safely(self.component, self.call))
        stopping = asyncio.create_task(self.active.stopped())
        await asyncio.wait([executing, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not executing.done():
            executing.cancel()
            await asyncio.wait([executing], timeout=GRACE_SECONDS)
        if self.active.is_cancelled or self.active.is_interrupted or not executing.done():
            _ignore_outcome(executing)
            return Outcome()
        if executing.cancelled():
            self.active.error = RuntimeError("the component cancelled itself")
        else:
            self.active.error = executing.exception()
        if isinstance(self.active.error, AnswerError) and self.call.is_continued:
            self.active.rejected, self.active.error = self.active.error, None
            return self._paused_again()
        if self.active.error is not None:
            _log.error("run %s failed", self.active.run_id, exc_info=self.active.error)
            return Outcome()
        return executing.result()

    def _paused_again(self) -> Outcome:
        """Returns the outcome of the previous pause, because the component rejected the answers."""
        before = self.record.result
        pause = Pause(before[requirements_member(self.component.kind)], self.call.state)
        return Outcome(
            content=before.get("content"), pause=pause, parts={name: before[name] for name in _PARTS if name in before}
        )

    def _failure_of(self, outcome: Outcome) -> str | None:
        """Returns the error message for the trace; None if the run did not fail."""
        if self.active.is_cancelled:
            return CANCELLED
        if self.active.is_interrupted:
            return INTERRUPTED
        if self.active.error is not None:
            return f"{type(self.active.error).__name__}: {self.active.error}"
        return None if outcome.reported is None else outcome.reported.failure

    async def _finish(self, outcome: Outcome, members: dict[str, Any], metadata: dict[str, Any]) -> None:
        """Stores the result and the last events of the run, then publishes the last one."""
        await self.writer.flushed()
        status, last = self._last_event(outcome, members, metadata)
        result = result_of(self.component, self.call, outcome, status)
        result["metadata"] = {**result.get("metadata", {}), **metadata}
        result["session_state"] = _storable(self.call.session_state)
        if outcome.reported is None:
            result |= members
        if self.active.error is not None or self.active.is_interrupted:
            result["content"] = INTERRUPTED if self.active.is_interrupted else FAILURE
        if self.component.store_events:
            result["events"] = [*self.active.result_events, msgspec.Raw(last.body)]
        record = msgspec.structs.replace(
            self.record,
            status=status,
            result=result,
            paused=self._pause_state(outcome),
            trace=msgspec.to_builtins(self.recording.origin),
            updated_at=int(time.time()),
        )

        state = result["session_state"]
        has_state = bool(state) or self.call.stored_state is not None
        end = RunEnd(record, last, state if has_state else None)
        await end.store(self.writer, self.active)
        if end.record is not record:
            self.active.error = RunFailedError(end.record.result["content"])
        self.active.result = end.record.result
        self.active.publish(end.last)

    def _pause_state(self, outcome: Outcome) -> dict[str, Any] | None:
        """Returns the state that a paused run needs to resume; None if the run is over."""
        if outcome.pause is None:
            return None
        given = {"dependencies": dict(self.call.dependencies), "metadata": dict(self.call.metadata)}
        return {"state": outcome.pause.state, **given}

    def _last_event(self, outcome: Outcome, members: dict[str, Any], metadata: dict[str, Any]) -> tuple[str, RunEvent]:
        """Returns the status of the run, and the unpublished event of its end or pause."""
        events: list[dict[str, Any]] = []
        call = self.call.with_listener(events.append)
        if self.active.is_cancelled:
            status = "CANCELLED"
            call.emit(self.component, "*Cancelled", reason=CANCELLED)
        elif self.active.error is not None or self.active.is_interrupted:
            status = "ERROR"
            emit_failure(self.component, call)
        else:
            status = outcome.status
            extra = members if status == "COMPLETED" and outcome.reported is None else {}
            emit_end(self.component, call, outcome, metadata=metadata, **extra)
        return status, self.active.encode(events[-1])


async def _execute_safely(component: Component, call: Call) -> Outcome:
    """Executes a component and checks that its outcome is valid JSON. Wraps errors that would stop the event loop.

    Raises:
        Exception: the error of the component.
    """
    try:
        outcome = await execute(component, call)
        plain(outcome.content), plain(outcome.parts)
    except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        raise as_exception(error) from error
    return outcome


def _ignore_outcome(task: asyncio.Task[Outcome]) -> None:
    """Retrieves the exception of an abandoned task, so that asyncio does not log it."""
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception())


def _storable(state: dict[str, Any]) -> dict[str, Any]:
    """Returns a session's state as plain values; empty if it cannot be represented as JSON."""
    try:
        found: dict[str, Any] = plain(dict(state))
    except ComponentError:
        _log.exception("the state of a session was not stored")
        return {}
    return found
