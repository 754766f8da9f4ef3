"""Builds the ASGI application from the route table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from starlette import routing
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.types import ASGIApp

from spanwise.errors import NotFoundError
from spanwise.http.core.metrics import NO_ROUTE
from spanwise.http.core.responder import responder
from spanwise.http.middleware.appended_slash import AppendedSlash
from spanwise.http.middleware.chunked_send import ChunkedSend
from spanwise.http.middleware.compression import Compression
from spanwise.http.middleware.cors import Cors
from spanwise.http.middleware.lifespan_state import LifespanState
from spanwise.http.middleware.request_id import RequestId
from spanwise.http.middleware.same_site import SameSite
from spanwise.http.middleware.unknown_callers import UnknownCallers
from spanwise.http.requests.caller import sender_of
from spanwise.http.requests.json import media_type
from spanwise.http.requests.media_types import PROTOBUF
from spanwise.http.responses.errors import as_spanwise_error, json_error_response, routing_error
from spanwise.http.routing.table import OTLP_TABLE, TABLE
from spanwise.http.routing.ui import LINKED_PATHS, file_routes
from spanwise.http.workflow_sockets.routes import websocket_routes
from spanwise.masking import masked_request_text
from spanwise.ui.files import read_files

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from spanwise.http.core.app_state import AppState
    from spanwise.http.core.responder import Endpoint
    from spanwise.http.core.route import Route

AnyRoute = TypeVar("AnyRoute", routing.Route, routing.WebSocketRoute)
Application: TypeAlias = ASGIApp
Lifespan: TypeAlias = "Callable[[object], AbstractAsyncContextManager[None]]"


def build_application(app_state: AppState, lifespan: Lifespan) -> Application:
    """Returns the application that serves the route table and the files of the user interface.

    Args:
        app_state: the parts of the service, which handlers work with.
        lifespan: opens and closes the service.

    Raises:
        ConfigurationError: the user interface is damaged.
    """
    return _application(app_state, (*file_routes(read_files()), *TABLE), websocket_routes(app_state), lifespan)


def build_otlp_application(app_state: AppState) -> Application:
    """Returns the application of the port that OTLP exporters use by default: the OTLP routes and `/health`."""
    return _application(app_state, OTLP_TABLE, (), None)


def _application(
    app_state: AppState,
    table: Sequence[Route],
    sockets: Sequence[routing.WebSocketRoute],
    lifespan: Lifespan | None,
) -> Application:
    application = Starlette(
        routes=[
            *map(_match_exactly, sockets),
            *(_path_route(path, routes, app_state) for path, routes in _routes_by_path(table).items()),
        ],
        middleware=_middleware(app_state, table),
        exception_handlers={HTTPException: _routing_error_handler(app_state)},
        lifespan=lifespan,
    )
    # Similar paths are not redirected.
    application.router.redirect_slashes = False
    return application


def _middleware(app_state: AppState, table: Sequence[Route]) -> list[Middleware]:
    """Returns the middleware, outermost first."""
    cors = [Middleware(Cors, origins=app_state.cors_origins)] if app_state.cors_origins else []
    fixed = {(route.method, route.path): responder(route, app_state) for route in table if "{" not in route.path}
    return [
        Middleware(LifespanState),
        Middleware(AppendedSlash),
        Middleware(RequestId),
        Middleware(ChunkedSend, budget=app_state.response_budget, public_budget=app_state.public_response_budget),
        Middleware(Compression),
        *cors,
        *_guard(app_state, table),
        Middleware(FixedPaths, endpoints=fixed),
    ]


def _guard(app_state: AppState, table: Sequence[Route]) -> list[Middleware]:
    """Returns the middleware that rejects cross-site requests and limits the cost of unknown callers.

    It is empty when callers are `verified`: the surrounding program then authenticates every caller.
    """
    if app_state.authorizer.callers == "open":
        allowed = {"hosts": app_state.allowed_hosts, "origins": app_state.cors_origins}
        return [Middleware(SameSite, **allowed, linked_paths=LINKED_PATHS)]
    if app_state.authorizer.callers == "verified":
        return []
    public = {route.path: route.reads_token for route in table if route.is_public}
    return [
        Middleware(
            UnknownCallers, authorizer=app_state.authorizer, budget=app_state.unknown_callers, public_paths=public
        )
    ]


class FixedPaths:
    """Dispatches requests for paths without parameters by a dictionary lookup; the router handles all others.

    Routing costs about as much as verifying a token.
    """

    def __init__(self, app: ASGIApp, endpoints: dict[tuple[str, str], Endpoint]) -> None:
        """Wraps `app`; `endpoints` maps a method and path to the endpoint."""
        self._app = app
        self._endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        is_ours = scope["type"] == "http" and not scope.get("root_path")
        endpoint = self._endpoints.get((scope["method"], scope["path"])) if is_ours else None
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        scope["path_params"] = {}
        response = await endpoint(Request(scope, receive, send))
        await response(scope, receive, send)


def _routes_by_path(table: Sequence[Route]) -> dict[str, list[Route]]:
    routes: dict[str, list[Route]] = {}
    for route in table:
        routes.setdefault(route.path, []).append(route)
    return routes


def _path_route(path: str, routes: list[Route], app_state: AppState) -> routing.Route:
    """Returns one route for all methods of a path, so that a 405 response lists every allowed method."""
    endpoints = {route.method: responder(route, app_state) for route in routes}

    async def respond(request: Request) -> Response:
        return await endpoints["GET" if request.method == "HEAD" else request.method](request)

    return _match_exactly(routing.Route(path, respond, methods=list(endpoints)))


def _match_exactly(route: AnyRoute) -> AnyRoute:
    """Returns the route with a pattern that rejects a trailing newline, which `$` would match."""
    route.path_regex = re.compile(route.path_regex.pattern.removesuffix("$") + r"\Z")
    return route


def _routing_error_handler(app_state: AppState) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def respond(request: Request, error: Exception) -> Response:
        reported, headers = routing_error(request, error)
        if request.method == "POST" and media_type(request) == PROTOBUF:
            app_state.traces.exports.refused(
                NotFoundError(f"there is no `{masked_request_text(request.scope['path']):.256}`"), sender_of(request)
            )
        try:
            await app_state.authorizer.authorize(request, None)
        except Exception as rejection:  # noqa: BLE001  # every failure gets a response
            reported, headers = as_spanwise_error(request, rejection), {}
        app_state.metrics.add_error(reported)
        app_state.metrics.add(NO_ROUTE, reported.status, 0.0)
        response = json_error_response(request, reported)
        response.headers.update(headers)
        return response

    return respond
