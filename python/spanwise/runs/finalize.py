"""Ending a run that nothing drives: one that a crash left behind, or that is cancelled while it is paused."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from spanwise.components import Kind
from spanwise.runs.active_run import one_line
from spanwise.runs.subscription import next_index
from spanwise.traces.recording.recorder import TraceOrigin

if TYPE_CHECKING:
    from spanwise.database import Database, RunRecord
    from spanwise.runs.database_writer import Journal
    from spanwise.traces.recording.recorder import Recorder

INTERRUPTED = "the service ended before the run did"
CANCELLED = "the run was cancelled"
_ENDINGS = {
    Kind.AGENT: ("RunError", "RunCancelled"),
    Kind.TEAM: ("TeamRunError", "TeamRunCancelled"),
    Kind.WORKFLOW: ("WorkflowError", "WorkflowCancelled"),
}


async def interrupt(record: RunRecord, journal: Journal, recorder: Recorder) -> None:
    """Marks a run that the process before this one did not finish, in its trace too, which has what was done.

    Args:
        record: the run.
        journal: where it is kept.
        recorder: what made its trace.
    """
    if not record.trace:
        await conclude(record, "ERROR", journal)
        return
    recording = recorder.begin(
        {"session.id": record.session_id, "user.id": record.user_id}, None, msgspec.convert(record.trace, TraceOrigin)
    )
    last_second = await journal.do(lambda database: _last_sign(database, record))
    at = min((last_second + 1) * 10**9, time.time_ns())  # after all that was done in that second
    known = {f"agno.{record.kind}.id": record.component_id, "agno.run.id": record.run_id, "input.value": record.message}
    recording.interrupt(INTERRUPTED, known, at)
    traced = {"metadata": {"trace_id": recording.trace_id}} if await recording.end() else {}
    await conclude(msgspec.structs.replace(record, result={**record.result, **traced}), "ERROR", journal)


async def conclude(record: RunRecord, status: str, journal: Journal) -> None:
    """Ends a run: its record, and the event that its followers wait for.

    Args:
        record: the run.
        status: `ERROR` or `CANCELLED`.
        journal: where it is kept.
    """
    kind = Kind(record.kind)
    is_cancelled = status == "CANCELLED"
    words = CANCELLED if is_cancelled else INTERRUPTED
    name = _ENDINGS[kind][is_cancelled]
    said = "reason" if is_cancelled else "error" if kind is Kind.WORKFLOW else "content"
    now = int(time.time())
    known = {"run_id": record.run_id, "session_id": record.session_id, f"{kind}_id": record.component_id}
    event: dict[str, Any] = {"created_at": now, "event": name, **known, said: words}
    result = {**known, "created_at": record.created_at, **record.result, "status": status, "content": words}
    ended = msgspec.structs.replace(record, status=status, result=result, paused=None, updated_at=now)

    def store(database: Database) -> None:
        event["event_index"] = next_index(database, record.run_id)
        database.end(ended, None)
        database.add_events([(record.run_id, event["event_index"], name, one_line(msgspec.json.encode(event)))])

    await journal.do(store)


def _last_sign(database: Database, record: RunRecord) -> int:
    """Returns when a run was last heard of, in seconds since 1970."""
    last = database.events(record.run_id, next_index(database, record.run_id) - 2, 1)
    said: int = msgspec.json.decode(last[0][2])["created_at"] if last else record.created_at
    return said
