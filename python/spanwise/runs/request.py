"""The request for a new run, and the initial records of a run and its session."""

from __future__ import annotations

from collections.abc import Mapping  # msgspec reads it
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from spanwise.components.adapting import keeps_sessions
from spanwise.components.parts import databases_of
from spanwise.database import RunRecord, SessionRecord
from spanwise.runs.sessions.service import session_name

if TYPE_CHECKING:
    from spanwise.components import Component
    from spanwise.traces.recording.origin import TraceOrigin


class RunRequest(Struct, frozen=True, kw_only=True):
    """The request for a new run, independent of its protocol.

    Attributes:
        message: the message for the component.
        user_id: the caller, by the precedence of identity.
        session_id: the session, likewise; None for a new one.
        is_verified: True if the user is verified, and so has separate session ids.
        traceparent: the trace context header of the request.
        stream: True if the caller requested a stream.
        session_state: merged into the state of the session.
        dependencies: the objects that the component needs for this run.
        metadata: the caller's notes about this run; they become part of the result.
    """

    message: str = ""
    user_id: str | None = None
    session_id: str | None = None
    is_verified: bool = False
    traceparent: str | None = None
    stream: bool = False
    session_state: dict[str, Any] = {}
    dependencies: dict[str, Any] = {}
    metadata: dict[str, Any] = {}


class ResumeRequest(Struct, frozen=True, kw_only=True):
    """The request to resume a paused run.

    Attributes:
        answers: the caller's answers that the run waits for.
        traceparent: the trace context header of the request.
        stream: True if the caller requested a stream.
    """

    answers: tuple[Mapping[str, Any], ...] = ()
    traceparent: str | None = None
    stream: bool = False


def new_session(component: Component, request: RunRequest, session_id: str, now: int) -> SessionRecord:
    """Returns the session in which a run starts, unless the database already has it.

    Args:
        component: the component to run.
        request: the request for the run.
        session_id: the id of the session.
        now: the time in seconds since 1970.
    """
    return SessionRecord(
        session_id=session_id,
        user_id=request.user_id,
        kind=component.kind,
        component_id=component.id,
        name=session_name(request.message),
        state=None,
        metadata={},
        created_at=now,
        updated_at=now,
    )


def new_run(
    component: Component, request: RunRequest, ids: tuple[str, str], origin: TraceOrigin, now: int
) -> RunRecord:
    """Returns the record of a run that starts.

    Args:
        component: the component to run.
        request: the request for the run.
        ids: the ids of the run and of its session.
        origin: the root of its trace.
        now: the time in seconds since 1970.
    """
    run_id, session_id = ids
    return RunRecord(
        run_id=run_id,
        owner=request.user_id or "",
        session_id=session_id,
        user_id=request.user_id,
        keeps_session=any(map(keeps_sessions, databases_of(component))),
        kind=component.kind,
        component_id=component.id,
        status="RUNNING",
        message=request.message,
        result={},
        paused=None,
        trace=msgspec.to_builtins(origin),
        created_at=now,
        updated_at=now,
    )
