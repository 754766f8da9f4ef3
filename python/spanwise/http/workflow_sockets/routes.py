"""The WebSocket routes of workflows, and the checks before a socket opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import WebSocketRoute

from spanwise.errors import ForbiddenError
from spanwise.http.core.authorization import AuditedRequest
from spanwise.http.middleware.cors import ANY
from spanwise.http.middleware.same_site import is_origin_of
from spanwise.http.responses.errors import as_spanwise_error, json_error_response
from spanwise.http.websocket.denial import deny
from spanwise.http.websocket.protocol import METHOD, PATHS
from spanwise.http.workflow_sockets.actions import ACTIONS
from spanwise.http.workflow_sockets.session import SocketSession

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.websockets import WebSocket

    from spanwise.auth.identity import Identity
    from spanwise.http.core.app_state import AppState


def websocket_routes(app_state: AppState) -> list[WebSocketRoute]:
    """Returns the WebSocket routes, which OpenAPI cannot describe."""
    return [WebSocketRoute(path, _endpoint(path, app_state)) for path in PATHS]


def _endpoint(path: str, app_state: AppState) -> Callable[[WebSocket], Awaitable[None]]:
    async def serve(websocket: WebSocket) -> None:
        session = SocketSession(websocket, path, app_state, ACTIONS)
        try:
            app_state.sockets.enter(session)
            _expect_allowed_origin(websocket, app_state)
            identity = await _authenticate(websocket, path, app_state)
            if identity is not None:
                session.set_identity(identity)
        except Exception as error:  # noqa: BLE001  # every failure gets a response
            session.leave()
            reported = as_spanwise_error(websocket, error)
            app_state.metrics.add_error(reported)
            app_state.metrics.add((METHOD, path), reported.status, 0.0)
            await deny(websocket, json_error_response(websocket, reported))
            return
        app_state.metrics.add((METHOD, path), 101, 0.0)
        try:
            await session.serve()
        finally:
            session.leave()

    return serve


async def _authenticate(websocket: WebSocket, path: str, app_state: AppState) -> Identity | None:
    """Returns the caller; None if it must authenticate by a message.

    Raises:
        UnauthenticatedError: the token in the header is invalid.
    """
    authorization = websocket.headers.getlist("authorization")
    if app_state.authorizer.callers == "tokens" and not authorization:
        return None
    audited = AuditedRequest(METHOD, path, websocket.path_params.get("component_id"), websocket.state.request_id)
    return await app_state.authorizer.authenticate(websocket, authorization, audited)


def _expect_allowed_origin(websocket: WebSocket, app_state: AppState) -> None:
    """Rejects pages of other origins, because browsers let any page open a socket to any host.

    Raises:
        ForbiddenError: the page belongs neither to the service nor to an allowed origin.
    """
    origin = websocket.headers.get("origin")
    if origin is None or ANY in app_state.cors_origins or origin.lower() in app_state.cors_origins:
        return
    if not is_origin_of(origin, websocket.headers.get("host", "")):
        raise ForbiddenError("pages of this origin may not open WebSockets")
