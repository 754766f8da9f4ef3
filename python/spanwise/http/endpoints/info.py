"""Describes the service to everyone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.components import Kind
from spanwise.http.responses.json import json_response
from spanwise.http.schemas.service import Info, Overview, ToolServer
from spanwise.models import API_VERSION

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.backend import Backend


async def show_overview(_request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /`."""
    return json_response(Overview(name=backend.name, id=backend.id, version=API_VERSION))


async def show_info(_request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /info`: how to authenticate and how many components are hosted, but not which."""
    return json_response(
        Info(
            os_id=backend.id,
            name=backend.name,
            agno_version=API_VERSION,
            agent_count=backend.registry.count(Kind.AGENT),
            team_count=backend.registry.count(Kind.TEAM),
            workflow_count=backend.registry.count(Kind.WORKFLOW),
            mcp=ToolServer(),
            auth_mode=backend.authorizer.mode,
        )
    )
