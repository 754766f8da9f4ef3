"""Ends a run that is not in progress: an unfinished run after a crash, or a paused run that is cancelled."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from spanwise.components import Kind
from spanwise.components.events import event_name, failure_member
from spanwise.components.execution import CANCELLED
from spanwise.database.records import UNFINISHED
from spanwise.runs.active_run import escape_line_ends
from spanwise.runs.subscription import next_index
from spanwise.traces.recording.origin import TraceOrigin

if TYPE_CHECKING:
    from spanwise.database import Database, RunRecord
    from spanwise.runs.storage.writer import DatabaseWriter
    from spanwise.traces.recording.recorder import Recorder

INTERRUPTED = "the service ended before the run did"
"""The error of a run that was ended by a crash or a shutdown."""


async def end_interrupted(record: RunRecord, writer: DatabaseWriter, recorder: Recorder) -> None:
    """Ends a run that an earlier process left unfinished, in its trace and in the database, which may be unavailable.

    Args:
        record: the run.
        writer: stores its end.
        recorder: completes its trace, which has the spans from before the crash.
    """
    traced = await _end_trace(record, writer, recorder) if record.trace else {}
    ended = msgspec.structs.replace(record, result={**record.result, **traced})
    await writer.transact_with_retries(lambda database: store_end(database, ended, "ERROR"))


async def _end_trace(record: RunRecord, writer: DatabaseWriter, recorder: Recorder) -> dict[str, Any]:
    """Ends the trace of an interrupted run, and returns the members that this adds to its result."""
    recording = recorder.begin(
        {"session.id": record.session_id, "user.id": record.user_id}, None, msgspec.convert(record.trace, TraceOrigin)
    )
    last_second = await writer.transact_with_retries(lambda database: _last_activity(database, record))
    at = min((last_second + 1) * 10**9, time.time_ns())  # after all activity in that second
    attributes = {
        f"agno.{record.kind}.id": record.component_id,
        "agno.run.id": record.run_id,
        "input.value": record.message,
    }
    recording.interrupt(INTERRUPTED, attributes, at)
    return {"metadata": {"trace_id": recording.trace_id}} if await recording.end() else {}


def end_if_unfinished(database: Database, run_id: str) -> None:
    """Ends a run with an error if it is stored as unfinished.

    It was never executed, because its caller got an error.
    """
    found = database.run(run_id)
    if found is not None and found.status in UNFINISHED:
        store_end(database, found, "ERROR")


def store_end(database: Database, record: RunRecord, status: str) -> None:
    """Stores the end of a run and its last event, within a transaction.

    Args:
        database: the database.
        record: the run.
        status: `ERROR` or `CANCELLED`.
    """
    ended, event = ended_with(record, status, CANCELLED if status == "CANCELLED" else INTERRUPTED)
    event["event_index"] = next_index(database, record.run_id)
    database.end(ended, None)
    database.add_events([(record.run_id, event["event_index"], event["event"], encode_event(event))])


def ended_with(record: RunRecord, status: str, message: str) -> tuple[RunRecord, dict[str, Any]]:
    """Returns a run after its end, and its last event, which has no index yet.

    Args:
        record: the run.
        status: `ERROR` or `CANCELLED`.
        message: the reason.
    """
    kind = Kind(record.kind)
    is_cancelled = status == "CANCELLED"
    member = "reason" if is_cancelled else failure_member(kind)
    now = int(time.time())
    ids = {"run_id": record.run_id, "session_id": record.session_id, f"{kind}_id": record.component_id}
    name = event_name(kind, "*Cancelled" if is_cancelled else "*Error")
    event: dict[str, Any] = {"created_at": now, "event": name, **ids, member: message}
    result = {**ids, "created_at": record.created_at, **record.result, "status": status, "content": message}
    return msgspec.structs.replace(record, status=status, result=result, paused=None, updated_at=now), event


def encode_event(event: dict[str, Any]) -> bytes:
    """Returns the JSON of an event, on one line."""
    return escape_line_ends(msgspec.json.encode(event))


def _last_activity(database: Database, record: RunRecord) -> int:
    """Returns the time of a run's last event in seconds since 1970; without events, the time of its last change."""
    last = database.events(record.run_id, next_index(database, record.run_id) - 2, 1)
    created_at: int = (
        msgspec.json.decode(last[0][2]).get("created_at", record.updated_at) if last else record.created_at
    )
    return created_at
