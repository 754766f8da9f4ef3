"""The routes of sessions: begun, listed, read, named, changed and deleted, each caller its own.

Source: compat 6. Their traces are another matter, see `http.traces`.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from spanwise.components import Kind
from spanwise.database import SessionPageQuery
from spanwise.errors import NotFoundError, ValidationError
from spanwise.http.endpoints.components import as_json
from spanwise.http.endpoints.runs import shown
from spanwise.http.requests.json import body_of
from spanwise.http.requests.query import query_of
from spanwise.http.schemas.sessions import (
    ChatMessage,
    Session,
    SessionCreation,
    SessionCreationQuery,
    SessionDetail,
    SessionList,
    SessionListQuery,
    SessionQuery,
    SessionRenaming,
    SessionRunsQuery,
    SessionUpdate,
)
from spanwise.models import PaginationInfo
from spanwise.runs import NewSession, SessionChange
from spanwise.runs.identity import effective

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.database import RunRecord, SessionRecord
    from spanwise.http.backend import Backend

DATABASE_ID = "runs"
"""What clients call the one database of sessions, beside the trace stores."""

_creation = msgspec.json.Decoder(SessionCreation)
_renaming = msgspec.json.Decoder(SessionRenaming)
_update = msgspec.json.Decoder(SessionUpdate)


async def list_sessions(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions`: a page, the one that began last first unless the query says otherwise."""
    begun = time.perf_counter()
    query = query_of(request, SessionListQuery)
    _expect_database(request, query)
    owner = _owner(request)
    asked = SessionPageQuery(
        user_id=owner or query.user_id or None,
        kind=query.type or None,
        component_id=query.component_id or None,
        name=query.session_name or None,
        sort_by=query.sort_by,
        descending=query.sort_order == "desc",
        offset=(query.page - 1) * query.limit,
        limit=query.limit,
    )
    is_foreign = owner is not None and query.user_id not in (msgspec.UNSET, "", owner)
    found, count = ([], 0) if is_foreign else await backend.runs.sessions.page(asked)
    meta = PaginationInfo(
        page=query.page,
        limit=query.limit,
        total_pages=-(-count // query.limit),
        total_count=count,
        search_time_ms=round((time.perf_counter() - begun) * 1000, 2),
    )
    return as_json(SessionList([Session(**_members(each)) for each in found], meta))


async def create_session(request: Request, body: bytes, backend: Backend) -> Response:
    """`POST /sessions`: one that begins without a run."""
    query = query_of(request, SessionCreationQuery)
    _expect_database(request, query)
    given = body_of(request, body, _creation)
    new = NewSession(
        kind=Kind(query.type),
        session_id=effective("session_id", request.state.session_id, given.session_id),
        user_id=effective("user_id", request.state.user_id, given.user_id),
        component_id=getattr(given, f"{query.type}_id") or None,
        name=given.session_name,
        state=given.session_state,
        metadata=given.metadata,
    )
    return as_json(_detail(await backend.runs.sessions.add(new), []), 201)


async def show_session(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions/{session_id}`, with what was said in it."""
    return as_json(await _whole(request, await _session(request, SessionQuery, backend), backend))


async def rename_session(request: Request, body: bytes, backend: Backend) -> Response:
    """`POST /sessions/{session_id}/rename`."""
    return await _changed(request, SessionChange(name=body_of(request, body, _renaming).session_name), backend)


async def update_session(request: Request, body: bytes, backend: Backend) -> Response:
    """`PATCH /sessions/{session_id}`."""
    given = body_of(request, body, _update)
    change = SessionChange(name=given.session_name, state=given.session_state, metadata=given.metadata)
    return await _changed(request, change, backend)


async def delete_session(request: Request, _body: bytes, backend: Backend) -> Response:
    """`DELETE /sessions/{session_id}`: with its runs and events. Its traces stay."""
    session = await _session(request, SessionQuery, backend)
    await backend.runs.sessions.delete(session.session_id, _owner(request))
    return Response(status_code=204)


async def list_session_runs(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions/{session_id}/runs`: the oldest first."""
    query = query_of(request, SessionRunsQuery)
    session = await _session(request, SessionRunsQuery, backend)
    records = await backend.runs.records(session.session_id, _owner(request))
    first = query.created_after or 0
    last = msgspec.UNSET if query.created_before is msgspec.UNSET else query.created_before
    found = [
        each for each in records if first <= each.created_at and (last is msgspec.UNSET or each.created_at <= last)
    ]
    return as_json([_shown(each) for each in found])


async def show_session_run(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions/{session_id}/runs/{run_id}`."""
    session = await _session(request, SessionQuery, backend)
    found = await backend.runs.sessions.run(session.session_id, request.path_params["run_id"], _owner(request))
    return as_json(_shown(found))


async def _changed(request: Request, change: SessionChange, backend: Backend) -> Response:
    session = await _session(request, SessionQuery, backend)
    changed = await backend.runs.sessions.change(session.session_id, _owner(request), change)
    return as_json(await _whole(request, changed, backend))


async def _session(request: Request, shape: type[SessionQuery], backend: Backend) -> SessionRecord:
    """Returns the session that a request means; one that does not fit its query is as if it were not there."""
    query = query_of(request, shape)
    _expect_database(request, query)
    session_id = request.path_params["session_id"]
    found = await backend.runs.sessions.one(session_id, _owner(request))
    if query.type not in (msgspec.UNSET, found.kind) or query.user_id not in (msgspec.UNSET, "", found.user_id):
        raise NotFoundError(f"Session with id '{session_id}' not found")
    return found


async def _whole(request: Request, session: SessionRecord, backend: Backend) -> SessionDetail:
    return _detail(session, await backend.runs.records(session.session_id, _owner(request)))


def _detail(session: SessionRecord, records: list[RunRecord]) -> SessionDetail:
    said = [message for record in records for message in _messages(record)]
    agent_session_id = session.session_id if session.kind == Kind.AGENT else None
    members = _members(session) | {"agent_session_id": agent_session_id}
    return SessionDetail(**members, session_state=session.state, chat_history=said)


def _members(session: SessionRecord) -> dict[str, Any]:
    return {
        "session_id": session.session_id,
        "session_name": session.name,
        "session_type": session.kind,
        "user_id": session.user_id,
        f"{session.kind}_id": session.component_id,
        "created_at": _iso(session.created_at),
        "updated_at": _iso(session.updated_at),
        "metadata": session.metadata or None,
    }


def _messages(record: RunRecord) -> list[ChatMessage]:
    said = [ChatMessage("user", record.message, record.created_at)]
    if record.status == "COMPLETED":
        said.append(ChatMessage("assistant", record.result.get("content"), record.created_at))
    return said


def _shown(record: RunRecord) -> dict[str, Any]:
    return {**shown(record), "run_input": record.message}


def _expect_database(request: Request, query: SessionQuery | SessionCreationQuery) -> None:
    if query.db_id not in (msgspec.UNSET, "", DATABASE_ID):
        raise NotFoundError(f"No database found with id '{query.db_id}'")
    if "table" in request.query_params:
        raise ValidationError("Unexpected parameter, sessions are in one table - at `table`")


def _owner(request: Request) -> str | None:
    owner: str | None = request.state.identity.owner_filter
    return owner


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
