"""Ending a run that is not in progress: one that a crash left unfinished, or that is cancelled while paused."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec

from spanwise.components import Kind
from spanwise.components.events import event_name, failure_member
from spanwise.components.execution import CANCELLED
from spanwise.runs.active_run import escape_line_ends
from spanwise.runs.subscription import next_index
from spanwise.traces.recording.origin import TraceOrigin

if TYPE_CHECKING:
    from spanwise.database import Database, RunRecord
    from spanwise.runs.database_writer import DatabaseWriter
    from spanwise.traces.recording.recorder import Recorder

INTERRUPTED = "the service ended before the run did"
"""The error of a run that a crash or a shutdown ended."""


async def finalize_interrupted(record: RunRecord, writer: DatabaseWriter, recorder: Recorder) -> None:
    """Ends a run that an earlier process left unfinished, in the database and in its trace.

    Args:
        record: the run.
        writer: stores its end.
        recorder: completes its trace, which has the spans from before the crash.
    """
    if not record.trace:
        await finalize(record, "ERROR", writer)
        return
    recording = recorder.begin(
        {"session.id": record.session_id, "user.id": record.user_id}, None, msgspec.convert(record.trace, TraceOrigin)
    )
    last_second = await writer.transact(lambda database: _last_activity(database, record))
    at = min((last_second + 1) * 10**9, time.time_ns())  # after whatever was done in that second
    attributes = {
        f"agno.{record.kind}.id": record.component_id,
        "agno.run.id": record.run_id,
        "input.value": record.message,
    }
    recording.interrupt(INTERRUPTED, attributes, at)
    traced = {"metadata": {"trace_id": recording.trace_id}} if await recording.end() else {}
    await finalize(msgspec.structs.replace(record, result={**record.result, **traced}), "ERROR", writer)


async def finalize(record: RunRecord, status: str, writer: DatabaseWriter) -> None:
    """Stores the end of a run, and the event of it that subscribers wait for.

    Args:
        record: the run.
        status: `ERROR` or `CANCELLED`.
        writer: stores both.
    """
    kind = Kind(record.kind)
    is_cancelled = status == "CANCELLED"
    message = CANCELLED if is_cancelled else INTERRUPTED
    name = event_name(kind, "*Cancelled" if is_cancelled else "*Error")
    member = "reason" if is_cancelled else failure_member(kind)
    now = int(time.time())
    ids = {"run_id": record.run_id, "session_id": record.session_id, f"{kind}_id": record.component_id}
    event: dict[str, Any] = {"created_at": now, "event": name, **ids, member: message}
    result = {**ids, "created_at": record.created_at, **record.result, "status": status, "content": message}
    ended = msgspec.structs.replace(record, status=status, result=result, paused=None, updated_at=now)

    def store(database: Database) -> None:
        event["event_index"] = next_index(database, record.run_id)
        body = escape_line_ends(msgspec.json.encode(event))
        database.end(ended, None)
        database.add_events([(record.run_id, event["event_index"], name, body)])

    await writer.transact(store)


def _last_activity(database: Database, record: RunRecord) -> int:
    """Returns when the last event of a run was created, in seconds since 1970; its own creation if it has none."""
    last = database.events(record.run_id, next_index(database, record.run_id) - 2, 1)
    created_at: int = msgspec.json.decode(last[0][2])["created_at"] if last else record.created_at
    return created_at
