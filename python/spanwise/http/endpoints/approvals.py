"""Lists, shows, decides and deletes the approvals that paused runs of agno's components wait for.

See `docs/reference/api-sessions.md#approvals`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response

from spanwise.api.approvals import (
    Approval,
    ApprovalCount,
    ApprovalListQuery,
    ApprovalResolution,
    ApprovalState,
    ApprovalUserQuery,
)
from spanwise.api.shared import PaginationInfo
from spanwise.http.requests.caller import owner_of
from spanwise.http.requests.json import decode_json
from spanwise.http.requests.query import decode_query
from spanwise.http.responses.json import json_response
from spanwise.runs.approvals import ApprovalPageQuery, Decision
from spanwise.runs.identity import effective

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.http.core.app_state import AppState
    from spanwise.runs.approvals import Row

_resolution = msgspec.json.Decoder(ApprovalResolution)


async def list_approvals(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /approvals`: a page of approvals, newest first."""
    started = time.perf_counter()
    query = decode_query(request, ApprovalListQuery)
    owner = owner_of(request)
    given = {name: value for name, value in msgspec.structs.asdict(query).items() if isinstance(value, str) and value}
    listing = ApprovalPageQuery(
        conditions=given if owner is None else {**given, "user_id": owner},
        offset=(query.page - 1) * query.limit,
        limit=query.limit,
    )
    names_another_user = owner is not None and given.get("user_id", owner) != owner
    rows, count = ([], 0) if names_another_user else await app_state.approvals.page(listing)
    meta = PaginationInfo(
        page=query.page,
        limit=query.limit,
        total_pages=-(-count // query.limit),
        total_count=count,
        search_time_ms=round((time.perf_counter() - started) * 1000, 2),
    )
    return json_response({"data": [_described(row) for row in rows], "meta": meta})


async def count_approvals(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /approvals/count`: the number of pending approvals."""
    owner = owner_of(request)
    user_id = decode_query(request, ApprovalUserQuery).user_id or owner
    if owner not in (None, user_id):
        return json_response(ApprovalCount(0))
    return json_response(ApprovalCount(await app_state.approvals.pending_count(user_id)))


async def show_approval(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /approvals/{approval_id}`: one approval."""
    return json_response(_described(await app_state.approvals.one(_approval_id(request), owner_of(request))))


async def show_status(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /approvals/{approval_id}/status`: whether one approval is decided."""
    row = await app_state.approvals.one(_approval_id(request), owner_of(request))
    decided = {name: row.get(name) for name in ("resolved_at", "resolved_by")}
    return json_response(ApprovalState(row["id"], row["status"], row["run_id"], **decided))


async def resolve_approval(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /approvals/{approval_id}/resolve`: decides an approval, so that its run can continue."""
    given = decode_json(request, body, _resolution)
    decision = Decision(
        status=given.status,
        resolved_by=effective("resolved_by", request.state.user_id, given.resolved_by),
        resolution_data=given.resolution_data,
    )
    return json_response(
        _described(await app_state.approvals.decide(_approval_id(request), owner_of(request), decision))
    )


async def delete_approval(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`DELETE /approvals/{approval_id}`: deletes an approval. Its run is unchanged."""
    await app_state.approvals.delete(_approval_id(request), owner_of(request))
    return Response(status_code=204)


def _approval_id(request: Request) -> str:
    approval_id: str = request.path_params["approval_id"]
    return approval_id


def _described(row: Row) -> dict[str, Any]:
    """Returns the members that an approval has, as stored in agno's database."""
    return {name: row[name] for name in Approval.__struct_fields__ if row.get(name) is not None}
