"""Rejects the handshake of a WebSocket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.http.websocket.protocol import POLICY_VIOLATION

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.websockets import WebSocket

_EXTENSION = "websocket.http.response"


async def deny(websocket: WebSocket, response: Response) -> None:
    """Responds to a handshake with `response`, by the ASGI extension "WebSocket Denial Response".

    A server without that extension, such as one of a surrounding program, responds with an empty 403.
    """
    if _EXTENSION in (websocket.scope.get("extensions") or {}):
        await websocket.send_denial_response(response)
    else:
        await websocket.close(POLICY_VIOLATION)
