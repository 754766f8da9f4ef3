"""Lists and describes the hosted agents, teams and workflows, without calling any factory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.auth.scopes import Need
from spanwise.http.requests.caller import component_id_of
from spanwise.http.responses.components import describe_component
from spanwise.http.responses.json import json_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.components import Kind
    from spanwise.http.core.app_state import AppState
    from spanwise.http.core.route import Handler


def list_components(kind: Kind) -> Handler:
    """Returns the handler of `GET /agents` and its equivalents, which lists the components that the caller may read."""

    async def handle(request: Request, _body: bytes, app_state: AppState) -> Response:
        visible = request.state.identity.visible_ids(Need.of(f"{kind}s:read"))
        entries = [entry for entry in app_state.registry.entries(kind) if visible is None or entry.id in visible]
        return json_response([describe_component(entry) for entry in entries])

    return handle


def show_component(kind: Kind) -> Handler:
    """Returns the handler of `GET /agents/{id}` and its equivalents."""

    async def handle(request: Request, _body: bytes, app_state: AppState) -> Response:
        return json_response(describe_component(app_state.registry.entry(kind, component_id_of(request))))

    return handle
