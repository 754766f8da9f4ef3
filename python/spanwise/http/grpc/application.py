"""Builds the ASGI application that serves gRPC. Its requests take the same steps as HTTP requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request

from spanwise.errors import MethodNotAllowedError, UnsupportedMediaTypeError
from spanwise.http.core.metrics import NO_ROUTE
from spanwise.http.core.responder import responder
from spanwise.http.grpc.health import MAX_MESSAGE_BYTES
from spanwise.http.grpc.message import UnaryMessage
from spanwise.http.grpc.responses import CONTENT_TYPE, grpc_error_response
from spanwise.http.grpc.services import ROUTES
from spanwise.http.middleware.request_id import RequestId
from spanwise.http.middleware.unknown_callers import UnknownCallers
from spanwise.http.requests.json import media_type
from spanwise.http.responses.errors import as_spanwise_error, json_error_response

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from spanwise.http.core.app_state import AppState

_PROTOBUF_SUFFIX = "+proto"


def grpc_application(app_state: AppState, max_message_bytes: int) -> ASGIApp:
    """Returns the application that serves OTLP over gRPC.

    It needs no protection from cross-site requests. Browsers use HTTP/2 only over TLS, and send a preflight request
    before a request of this content type.

    Args:
        app_state: the parts of the service.
        max_message_bytes: the size limit of a message, as sent.
    """
    calls: ASGIApp = _Calls(app_state, max_message_bytes)
    if app_state.authorizer.callers == "tokens":
        public = {route.path: route.reads_token for route in ROUTES if route.is_public}
        calls = UnknownCallers(calls, app_state.authorizer, app_state.unknown_callers, public, grpc_error_response)
    return RequestId(calls)


class _Calls:
    """Dispatches calls to the methods in the table."""

    def __init__(self, app_state: AppState, max_message_bytes: int) -> None:
        self._app_state = app_state
        self._methods = {
            route.path: (responder(route, app_state), max_message_bytes if route.body else MAX_MESSAGE_BYTES)
            for route in ROUTES
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one call."""
        scope["path_params"] = {}
        response = await self._respond(scope, receive, send)
        await response(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> Response:
        request = Request(scope, receive, send)
        found = media_type(request)
        if found.removesuffix(_PROTOBUF_SUFFIX) != CONTENT_TYPE or scope["method"] != "POST":
            return json_error_response(
                request, UnsupportedMediaTypeError(f"expected a POST of `{CONTENT_TYPE}`, got `{found:.256}`")
            )
        method = self._methods.get(scope["path"])
        if method is None:
            return await self._reject(request)
        respond, max_bytes = method
        return await respond(Request(scope, UnaryMessage(scope, receive, max_bytes).receive, send))

    async def _reject(self, request: Request) -> Response:
        """Returns the response to a call of an unknown method. Only authenticated callers learn that it is unknown."""
        error: Exception = MethodNotAllowedError(f"there is no method `{request.scope['path']:.256}`")
        try:
            await self._app_state.authorizer.authorize(request, None)
        except Exception as rejection:  # noqa: BLE001  # every failure gets a response
            error = rejection
        reported = as_spanwise_error(request, error)
        self._app_state.metrics.add_error(reported)
        self._app_state.metrics.add(NO_ROUTE, reported.status, 0.0)
        return grpc_error_response(request, reported)
