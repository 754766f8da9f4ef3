"""Describes the service to everyone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse

from spanwise.api.service import Info, Overview, ToolServer
from spanwise.api.shared import API_VERSION
from spanwise.components import Kind
from spanwise.http.requests.accept import weight_of_media_type
from spanwise.http.requests.media_types import HTML, JSON
from spanwise.http.responses.json import json_response
from spanwise.traces import __version__

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.core.app_state import AppState


async def show_overview(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /`: the service's name for programs, and a redirect to the user interface for browsers.

    The redirect is relative because a proxy may have stripped a path prefix.
    """
    response: Response
    accepted = ",".join(request.headers.getlist("accept"))
    if weight_of_media_type(accepted, HTML) > weight_of_media_type(accepted, JSON):
        response = RedirectResponse("ui", status_code=307)
    else:
        response = json_response(Overview(app_state.name, app_state.id, API_VERSION, __version__))
    response.headers["Vary"] = "Accept"
    return response


async def show_info(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /info`: how to authenticate, and the number of hosted components without their names."""
    return json_response(
        Info(
            os_id=app_state.id,
            name=app_state.name,
            agno_version=API_VERSION,
            agent_count=app_state.registry.count(Kind.AGENT),
            team_count=app_state.registry.count(Kind.TEAM),
            workflow_count=app_state.registry.count(Kind.WORKFLOW),
            mcp=ToolServer(),
            auth_mode="jwt" if app_state.authorizer.callers == "tokens" else "none",
            callers=app_state.authorizer.callers,
            authenticated=await app_state.authorizer.is_authenticated(request),
            capabilities=["search"] if app_state.is_reader else ["search", "ingest", "delete", "runs"],
        )
    )
