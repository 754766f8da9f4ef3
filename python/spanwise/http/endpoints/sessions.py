"""Creates, lists, reads, renames, updates and deletes the caller's sessions. Their traces are unchanged.

See `docs/reference/api-sessions.md#sessions`.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from spanwise.components import Kind
from spanwise.components.content import text_of
from spanwise.database import SessionPageQuery
from spanwise.errors import BadRequestError, NotFoundError, ValidationError
from spanwise.http.requests.caller import owner_of
from spanwise.http.requests.json import decode_json
from spanwise.http.requests.query import decode_query
from spanwise.http.responses.json import json_response
from spanwise.http.responses.runs import describe_run
from spanwise.http.schemas.sessions import (
    MAX_PREVIEW_LENGTH,
    ChatMessage,
    RunPreview,
    Session,
    SessionCreation,
    SessionCreationQuery,
    SessionDetail,
    SessionList,
    SessionListQuery,
    SessionQuery,
    SessionRenaming,
    SessionRunsQuery,
    SessionsDeletion,
    SessionsDeletionQuery,
    SessionUpdate,
)
from spanwise.models import PaginationInfo
from spanwise.runs import NewSession, SessionAddress, SessionChange
from spanwise.runs.identity import effective
from spanwise.runs.sessions.metrics import session_metrics

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.database import RunRecord, SessionRecord
    from spanwise.http.backend import Backend

MAX_SECONDS = 253_402_300_799
"""The end of the year 9999, the last time that can be formatted."""
DAMAGED = "the stored run is damaged"
"""The text shown for the messages of a damaged run."""
_create_request = msgspec.json.Decoder(SessionCreation)
_rename_request = msgspec.json.Decoder(SessionRenaming)
_deletion_request = msgspec.json.Decoder(SessionsDeletion)
_update_request = msgspec.json.Decoder(SessionUpdate)


async def list_sessions(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions`: a page of sessions, newest first unless the query says otherwise."""
    started = time.perf_counter()
    query = decode_query(request, SessionListQuery)
    _expect_database(request, query, backend)
    owner = owner_of(request)
    listing = SessionPageQuery(
        user_id=owner or query.user_id or None,
        kind=query.type or None,
        component_id=query.component_id or None,
        name=query.session_name or None,
        sort_by=query.sort_by,
        descending=query.sort_order == "desc",
        offset=(query.page - 1) * query.limit,
        limit=query.limit,
    )
    names_another_user = owner is not None and query.user_id not in (msgspec.UNSET, "", owner)
    found, count = ([], 0) if names_another_user else await backend.runs.sessions.page(listing)
    meta = PaginationInfo(
        page=query.page,
        limit=query.limit,
        total_pages=-(-count // query.limit),
        total_count=count,
        search_time_ms=round((time.perf_counter() - started) * 1000, 2),
    )
    return json_response(SessionList([Session(**_members(each)) for each in found], meta))


async def create_session(request: Request, body: bytes, backend: Backend) -> Response:
    """`POST /sessions`: creates a session without a run."""
    query = decode_query(request, SessionCreationQuery)
    _expect_database(request, query, backend)
    given = decode_json(request, body, _create_request)
    new = NewSession(
        kind=Kind(query.type),
        session_id=effective("session_id", request.state.session_id, given.session_id),
        user_id=effective("user_id", request.state.user_id, given.user_id),
        is_verified=bool(request.state.user_id),
        component_id=getattr(given, f"{query.type}_id") or None,
        name=given.session_name,
        state=given.session_state,
        metadata=given.metadata,
    )
    return json_response(_detail(await backend.runs.sessions.add(new), []), 201)


async def show_session(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions/{session_id}`: one session with its messages."""
    return json_response(await _detail_of(request, await _session_of(request, SessionQuery, backend), backend))


async def rename_session(request: Request, body: bytes, backend: Backend) -> Response:
    """`POST /sessions/{session_id}/rename`: renames a session."""
    return await _change(request, SessionChange(name=decode_json(request, body, _rename_request).session_name), backend)


async def update_session(request: Request, body: bytes, backend: Backend) -> Response:
    """`PATCH /sessions/{session_id}`: changes the given members of a session."""
    given = decode_json(request, body, _update_request)
    change = SessionChange(name=given.session_name, state=given.session_state, metadata=given.metadata)
    return await _change(request, change, backend)


async def delete_session(request: Request, _body: bytes, backend: Backend) -> Response:
    """`DELETE /sessions/{session_id}`: deletes a session with its runs and events, but not its traces."""
    session = await _session_of(request, SessionQuery, backend)
    await backend.runs.sessions.delete(_address(request, session))
    return Response(status_code=204)


async def delete_sessions(request: Request, body: bytes, backend: Backend) -> Response:
    """`DELETE /sessions`: deletes several sessions in order. Sessions of other users are skipped."""
    query = decode_query(request, SessionsDeletionQuery)
    _expect_database(request, query, backend)
    given = decode_json(request, body, _deletion_request)
    if len(given.session_ids) != len(given.session_types):
        raise BadRequestError("expected as many `session_types` as `session_ids`")
    user_id = None if query.user_id is msgspec.UNSET else query.user_id
    addresses = [SessionAddress(each, owner_of(request), user_id) for each in given.session_ids]
    await backend.runs.sessions.delete_all(addresses)
    return Response(status_code=204)


async def list_session_runs(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions/{session_id}/runs`: the runs of a session, oldest first."""
    return json_response([_describe_run(each) for each in await _runs_of(request, backend)])


async def list_run_previews(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions/{session_id}/run-previews`: summaries of the runs of a session, oldest first."""
    return json_response([_preview(each) for each in await _runs_of(request, backend)])


async def show_session_run(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions/{session_id}/runs/{run_id}`: one run of a session."""
    session = await _session_of(request, SessionQuery, backend)
    found = await backend.runs.sessions.run(_address(request, session), request.path_params["run_id"])
    return json_response(_describe_run(found))


async def _change(request: Request, change: SessionChange, backend: Backend) -> Response:
    session = await _session_of(request, SessionQuery, backend)
    changed = await backend.runs.sessions.change(_address(request, session), change)
    return json_response(await _detail_of(request, changed, backend))


async def _runs_of(request: Request, backend: Backend) -> list[RunRecord]:
    """Returns the session's runs that match the query, oldest first."""
    query = decode_query(request, SessionRunsQuery)
    statuses = {status.upper() for status in query.status or ()}
    session = await _session_of(request, SessionRunsQuery, backend)
    records = await backend.runs.records(_address(request, session))
    first = query.created_after or 0
    last = query.created_before
    return [
        each
        for each in records
        if first <= each.created_at
        and (last is msgspec.UNSET or each.created_at <= last)
        and (not statuses or each.status in statuses)
    ]


async def _session_of(request: Request, shape: type[SessionQuery], backend: Backend) -> SessionRecord:
    """Returns the session in the path of a request. One that does not match the query is reported as not found."""
    query = decode_query(request, shape)
    _expect_database(request, query, backend)
    session_id = request.path_params["session_id"]
    user_id = None if query.user_id is msgspec.UNSET else query.user_id
    found = await backend.runs.sessions.one(SessionAddress(session_id, owner_of(request), user_id))
    if query.type not in (msgspec.UNSET, found.kind):
        raise NotFoundError(f"Session with id '{session_id}' not found")
    return found


async def _detail_of(request: Request, session: SessionRecord, backend: Backend) -> SessionDetail:
    return _detail(session, await backend.runs.records(_address(request, session)))


def _address(request: Request, session: SessionRecord) -> SessionAddress:
    """Returns the address of a session."""
    return SessionAddress(session.session_id, owner_of(request), session.user_id or "")


def _detail(session: SessionRecord, records: list[RunRecord]) -> SessionDetail:
    messages = [message for record in records for message in _messages(record)]
    agent_session_id = session.session_id if session.kind == Kind.AGENT else None
    members = _members(session) | {"agent_session_id": agent_session_id}
    metrics = session_metrics(record.result.get("metrics") for record in records)
    return SessionDetail(
        **members,
        session_state=session.state or {},
        metrics=metrics,
        total_tokens=metrics.get("total_tokens"),
        chat_history=messages,
    )


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
        "damaged": session.is_damaged,
    }


def _messages(record: RunRecord) -> list[ChatMessage]:
    if record.is_damaged:
        return [ChatMessage("assistant", DAMAGED, record.created_at)]
    messages = [ChatMessage("user", record.message, record.created_at)]
    if record.status == "COMPLETED":
        messages.append(ChatMessage("assistant", record.result.get("content"), record.created_at))
    return messages


def _preview(record: RunRecord) -> RunPreview:
    content = text_of(record.result.get("content"))
    component: dict[str, Any] = {f"{record.kind}_id": record.component_id}
    return RunPreview(
        run_id=record.run_id,
        user_id=record.user_id,
        status=record.status,
        run_input=record.message[:MAX_PREVIEW_LENGTH],
        content_preview=content and content[:MAX_PREVIEW_LENGTH],
        created_at=_iso(record.created_at),
        damaged=record.is_damaged,
        **component,
    )


def _describe_run(record: RunRecord) -> dict[str, Any]:
    return {**describe_run(record), "run_input": record.message}


def _expect_database(
    request: Request, query: SessionQuery | SessionCreationQuery | SessionsDeletionQuery, backend: Backend
) -> None:
    backend.databases.expect_sessions(query.db_id or None)
    if "table" in request.query_params:
        raise ValidationError("Unexpected parameter, sessions are in one table - at `table`")


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(min(max(seconds, 0), MAX_SECONDS), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
