"""What anybody may know about the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from spanwise.components import Kind
from spanwise.models import API_VERSION, Info, Overview, ToolServer

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.http.backend import Backend


async def overview(_request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /`."""
    return _json(Overview(name=backend.name, id=backend.id, version=API_VERSION))


async def info(_request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /info`: how to sign in, and how much is hosted, but not what."""
    return _json(
        Info(
            os_id=backend.id,
            name=backend.name,
            agno_version=API_VERSION,
            agent_count=backend.registry.count(Kind.AGENT),
            team_count=backend.registry.count(Kind.TEAM),
            workflow_count=backend.registry.count(Kind.WORKFLOW),
            mcp=ToolServer(),
            auth_mode=backend.admission.mode,
        )
    )


def _json(answer: msgspec.Struct) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")
