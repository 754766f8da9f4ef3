"""The routes of sessions: listed, read and deleted, each caller its own.

Source: compat 6. Their traces are another matter, see `http.traces`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from spanwise.components import Kind
from spanwise.errors import ValidationError
from spanwise.http.components import as_json
from spanwise.http.runs import shown

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.database import SessionRecord
    from spanwise.http.backend import Backend

MOST_ITEMS = 100
_NOT_BUILT = ("session_name", "sort_by", "sort_order", "table")


async def list_sessions(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions`: a page, the one changed last first."""
    query = request.query_params
    kind = query.get("type")
    if kind is not None and kind not in set(Kind):
        raise ValidationError(f"Expected `agent | team | workflow`, got `{kind[:32]}` - at `type`")
    for name in _NOT_BUILT:
        if name in query:
            raise ValidationError(f"Unexpected parameter, it is not built yet - at `{name}`")
    page, limit = _number(request, "page", 1, 2**31), _number(request, "limit", 20, MOST_ITEMS)
    owner = request.state.identity.owner_filter
    user_id = owner or query.get("user_id")
    found = await backend.runs.sessions(user_id, kind, query.get("component_id"))
    if owner is not None and query.get("user_id") not in (None, owner):
        found = []
    meta = {"page": page, "limit": limit, "total_pages": -(-len(found) // limit), "total_count": len(found)}
    return as_json({"data": [summary(each) for each in found[(page - 1) * limit : page * limit]], "meta": meta})


async def show_session(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions/{session_id}`, with what was said in it."""
    session = await backend.runs.session(request.path_params["session_id"], request.state.identity.owner_filter)
    records = await backend.runs.records(session.session_id, request.state.identity.owner_filter)
    said = [message for record in records for message in _messages(shown(record), record.message)]
    return as_json({**summary(session), "session_state": session.state, "chat_history": said})


async def list_session_runs(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /sessions/{session_id}/runs`: the oldest first."""
    session_id = request.path_params["session_id"]
    records = await backend.runs.records(session_id, request.state.identity.owner_filter)
    return as_json([shown(record) for record in records])


async def delete_session(request: Request, _body: bytes, backend: Backend) -> Response:
    """`DELETE /sessions/{session_id}`: with its runs and events. Its traces stay."""
    await backend.runs.delete_session(request.path_params["session_id"], request.state.identity.owner_filter)
    return Response(status_code=204)


def summary(session: SessionRecord) -> dict[str, Any]:
    """Returns what a listing shows of a session."""
    found = {
        "session_id": session.session_id,
        "session_name": session.name,
        "session_type": session.kind,
        "user_id": session.user_id,
        f"{session.kind}_id": session.component_id,
        "created_at": session.created_at,
        "updated_at": session.updated_at,
    }
    return {name: value for name, value in found.items() if value is not None}


def _messages(run: dict[str, Any], message: str) -> list[dict[str, Any]]:
    said = [{"role": "user", "content": message, "created_at": run["created_at"]}]
    if run["status"] == "COMPLETED":
        said.append({"role": "assistant", "content": run.get("content"), "created_at": run["created_at"]})
    return said


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:19]) <= most:
        raise ValidationError(f"Expected `int` from 1 to {most}, got `{text[:32]}` - at `{name}`")
    return int(text)
