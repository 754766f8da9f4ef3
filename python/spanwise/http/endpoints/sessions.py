"""Creates, lists, reads, renames, updates and deletes the caller's sessions. Their traces are unchanged.

See `docs/reference/api-sessions.md#sessions`.
"""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from spanwise.api.sessions import (
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
from spanwise.api.shared import PaginationInfo
from spanwise.components import Kind
from spanwise.components.content import text_of
from spanwise.database import SessionPageQuery, SessionRunQuery
from spanwise.errors import BadRequestError, NotFoundError, ValidationError
from spanwise.http.requests.caller import owner_of
from spanwise.http.requests.json import decode_json
from spanwise.http.requests.query import decode_query
from spanwise.http.responses.held import RunList, held
from spanwise.http.responses.json import json_response
from spanwise.http.responses.runs import describe_run
from spanwise.runs import NewSession, SessionAddress, SessionChange
from spanwise.runs.identity import effective
from spanwise.runs.sessions.metrics import session_metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from spanwise.database import Database, RunRecord, SessionKey, SessionRecord
    from spanwise.fair_budget import Lease
    from spanwise.http.core.app_state import AppState
    from spanwise.runs.storage.pages import RunPages

MAX_SECONDS = 253_402_300_799
"""The end of the year 9999, the last time that can be formatted."""
DAMAGED = "the stored run is damaged"
"""The text shown for the messages of a damaged run."""
_create_request = msgspec.json.Decoder(SessionCreation)
_rename_request = msgspec.json.Decoder(SessionRenaming)
_deletion_request = msgspec.json.Decoder(SessionsDeletion)
_update_request = msgspec.json.Decoder(SessionUpdate)


async def list_sessions(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /sessions`: a page of sessions, newest first unless the query says otherwise."""
    started = time.perf_counter()
    query = decode_query(request, SessionListQuery)
    _expect_database(request, query, app_state)
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

    async def build(lease: Lease) -> Response:
        found, count = ([], 0) if names_another_user else await app_state.runs.sessions.page(listing, lease)
        meta = PaginationInfo(
            page=query.page,
            limit=query.limit,
            total_pages=-(-count // query.limit),
            total_count=count,
            search_time_ms=round((time.perf_counter() - started) * 1000, 2),
        )
        return json_response(SessionList([Session(**_members(each)) for each in found], meta))

    return await held(app_state.response_budget, build)


async def create_session(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /sessions`: creates a session without a run."""
    query = decode_query(request, SessionCreationQuery)
    _expect_database(request, query, app_state)
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
    added = await app_state.runs.sessions.add(new)
    return await held(app_state.response_budget, lambda lease: _detail_of(request, added, app_state, lease, 201))


async def show_session(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /sessions/{session_id}`: one session with its messages."""

    async def build(lease: Lease) -> Response:
        session = await _session_of(request, SessionQuery, app_state, lease)
        return await _detail_of(request, session, app_state, lease)

    return await held(app_state.response_budget, build)


async def rename_session(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /sessions/{session_id}/rename`: renames a session."""
    return await _change(
        request, SessionChange(name=decode_json(request, body, _rename_request).session_name), app_state
    )


async def update_session(request: Request, body: bytes, app_state: AppState) -> Response:
    """`PATCH /sessions/{session_id}`: changes the given members of a session."""
    given = decode_json(request, body, _update_request)
    change = SessionChange(name=given.session_name, state=given.session_state, metadata=given.metadata)
    return await _change(request, change, app_state)


async def delete_session(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`DELETE /sessions/{session_id}`: deletes a session with its runs and events, but not its traces."""
    session = await _session_of(request, SessionQuery, app_state)
    await app_state.runs.sessions.delete(_address(request, session))
    return Response(status_code=204)


async def delete_sessions(request: Request, body: bytes, app_state: AppState) -> Response:
    """`DELETE /sessions`: deletes several sessions in order. Sessions of other users are skipped."""
    query = decode_query(request, SessionsDeletionQuery)
    _expect_database(request, query, app_state)
    given = decode_json(request, body, _deletion_request)
    if len(given.session_ids) != len(given.session_types):
        raise BadRequestError("expected as many `session_types` as `session_ids`")
    user_id = None if query.user_id is msgspec.UNSET else query.user_id
    addresses = [SessionAddress(each, owner_of(request), user_id) for each in given.session_ids]
    await app_state.runs.sessions.delete_all(addresses)
    return Response(status_code=204)


async def list_session_runs(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /sessions/{session_id}/runs`: the runs of a session, oldest first."""
    return await _list_runs(request, app_state, lambda record: msgspec.json.encode(_describe_run(record)))


async def list_run_previews(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /sessions/{session_id}/run-previews`: summaries of the runs of a session, oldest first."""
    return await _list_runs(request, app_state, lambda record: msgspec.json.encode(_preview(record)))


async def show_session_run(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /sessions/{session_id}/runs/{run_id}`: one run of a session."""

    async def build(lease: Lease) -> Response:
        session = await _session_of(request, SessionQuery, app_state, lease)
        address = _address(request, session)
        found = await app_state.runs.sessions.run(address, request.path_params["run_id"], lease)
        return json_response(_describe_run(found))

    return await held(app_state.response_budget, build)


async def _change(request: Request, change: SessionChange, app_state: AppState) -> Response:
    async def build(lease: Lease) -> Response:
        session = await _session_of(request, SessionQuery, app_state, lease)
        address = _address(request, session)
        pages, first = await app_state.runs.sessions.runs(address, _all_runs, lease, _messages_and_metrics)
        # Reserve the memory of the response first: a 413 or 503 changes nothing.
        return _Detail(await app_state.runs.sessions.change(address, change), pages, first).response()

    return await held(app_state.response_budget, build)


async def _list_runs(request: Request, app_state: AppState, encode: Callable[[RunRecord], bytes]) -> Response:
    """Returns the session's runs that match the query, oldest first."""
    query = decode_query(request, SessionRunsQuery)

    def select(_database: Database, session: SessionKey) -> SessionRunQuery:
        return SessionRunQuery(
            session=session,
            statuses=tuple({status.upper() for status in query.status or ()}),
            created_after=None if query.created_after is msgspec.UNSET else query.created_after,
            created_before=None if query.created_before is msgspec.UNSET else query.created_before,
        )

    async def build(lease: Lease) -> Response:
        session = await _session_of(request, SessionRunsQuery, app_state, lease)
        return RunList(
            *await app_state.runs.sessions.runs(_address(request, session), select, lease, encode)
        ).response()

    return await held(app_state.response_budget, build)


async def _session_of(
    request: Request, shape: type[SessionQuery], app_state: AppState, lease: Lease | None = None
) -> SessionRecord:
    """Returns the session in the path of a request. One that does not match the query is reported as not found."""
    query = decode_query(request, shape)
    _expect_database(request, query, app_state)
    session_id = request.path_params["session_id"]
    user_id = None if query.user_id is msgspec.UNSET else query.user_id
    found = await app_state.runs.sessions.one(SessionAddress(session_id, owner_of(request), user_id), lease)
    if query.type not in (msgspec.UNSET, found.kind):
        raise NotFoundError(f"Session with id '{session_id}' not found")
    return found


async def _detail_of(
    request: Request, session: SessionRecord, app_state: AppState, lease: Lease, status: int = 200
) -> Response:
    address = _address(request, session)
    pages, first = await app_state.runs.sessions.runs(address, _all_runs, lease, _messages_and_metrics)
    return _Detail(session, pages, first).response(status)


def _all_runs(_database: Database, session: SessionKey) -> SessionRunQuery:
    return SessionRunQuery(session=session)


def _address(request: Request, session: SessionRecord) -> SessionAddress:
    """Returns the address of a session."""
    return SessionAddress(session.session_id, owner_of(request), session.user_id or "")


class _Detail(RunList[tuple[bytes, dict[str, Any]]]):
    """A session with the messages and the total metrics of its runs."""

    def __init__(
        self,
        session: SessionRecord,
        pages: RunPages[tuple[bytes, dict[str, Any]]],
        first: list[tuple[bytes, dict[str, Any]]],
    ) -> None:
        """Begins with the members that need no run."""
        super().__init__(pages, first)
        self._used: Counter[str] = Counter()
        agent_session_id = session.session_id if session.kind == Kind.AGENT else None
        members = _members(session) | {"agent_session_id": agent_session_id}
        detail = SessionDetail(**members, session_state=session.state or {}, metrics={}, chat_history=[])
        shown = msgspec.to_builtins(detail)
        del shown["metrics"], shown["chat_history"]
        self.head = msgspec.json.encode(shown)[:-1] + b',"chat_history":['

    def text(self, run: tuple[bytes, dict[str, Any]]) -> bytes:
        """Returns the messages of a run, and adds its metrics to the total."""
        messages, used = run
        for name, value in used.items():
            self._used[name] += value
        return messages

    def tail(self) -> bytes:
        """Returns the sums."""
        metrics = {name: value for name, value in self._used.items() if value}
        total = {"total_tokens": metrics["total_tokens"]} if "total_tokens" in metrics else {}
        return b"]," + msgspec.json.encode({"metrics": metrics, **total})[1:]


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


def _messages_and_metrics(record: RunRecord) -> tuple[bytes, dict[str, Any]]:
    """Returns the messages of a run as the elements of a JSON array, and its metrics."""
    if record.is_damaged:
        return msgspec.json.encode(ChatMessage("assistant", DAMAGED, record.created_at)), {}
    messages = [ChatMessage("user", record.message, record.created_at)]
    if record.status == "COMPLETED":
        messages.append(ChatMessage("assistant", record.result.get("content"), record.created_at))
    return msgspec.json.encode(messages)[1:-1], session_metrics([_decoded(record, "metrics")])


def _preview(record: RunRecord) -> RunPreview:
    content = text_of(_decoded(record, "content"))
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


def _decoded(record: RunRecord, name: str) -> Any:  # noqa: ANN401  # any JSON
    """Returns a member of the result of a run that was read as a part of a list."""
    found = record.result.get(name)
    return None if found is None else msgspec.json.decode(found)


def _describe_run(record: RunRecord) -> dict[str, Any]:
    return {**describe_run(record), "run_input": record.message}


def _expect_database(
    request: Request, query: SessionQuery | SessionCreationQuery | SessionsDeletionQuery, app_state: AppState
) -> None:
    app_state.databases.expect_sessions(query.db_id or None)
    if "table" in request.query_params:
        raise ValidationError("Unexpected parameter, sessions are in one table - at `table`")


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(min(max(seconds, 0), MAX_SECONDS), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
