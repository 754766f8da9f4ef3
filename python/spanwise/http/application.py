"""From the route table to an ASGI application."""

from __future__ import annotations

import re
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp

from spanwise.http.metrics import NO_ROUTE
from spanwise.http.middleware.chunked_send import Pieces
from spanwise.http.middleware.compression import Compression
from spanwise.http.middleware.cors import Cors
from spanwise.http.middleware.request_id import RequestId
from spanwise.http.responses.errors import as_spanwise_error, json_refusal, no_route
from spanwise.http.routing.table import TABLE
from spanwise.http.websocket.routes import socket_routes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from spanwise.http.backend import Backend
    from spanwise.http.routing.table import Row

AnyRoute = TypeVar("AnyRoute", Route, WebSocketRoute)
Application: TypeAlias = ASGIApp
Answer: TypeAlias = "Callable[[Request], Awaitable[Response]]"
Lifespan: TypeAlias = "Callable[[object], AbstractAsyncContextManager[None]]"


def build_application(backend: Backend, lifespan: Lifespan) -> Application:
    """Returns the application that serves the route table.

    Args:
        backend: what the handlers answer from.
        lifespan: what surrounds the time in which it serves.
    """
    application = Starlette(
        routes=[
            *map(_ends_at_its_end, socket_routes(backend)),
            *(_route(path, rows, backend) for path, rows in _by_path().items()),
        ],
        middleware=_middleware(backend),
        exception_handlers={HTTPException: _no_route(backend)},
        lifespan=lifespan,
    )
    # A path is one of the table or none: nothing is redirected to a path that looks like it.
    application.router.redirect_slashes = False
    return application


def _middleware(backend: Backend) -> list[Middleware]:
    """Returns what surrounds every request, outermost first."""
    cors = [Middleware(Cors, origins=backend.origins)] if backend.origins else []
    fixed = {(row.method, row.path): _endpoint(row, backend) for row in TABLE if "{" not in row.path}
    return [
        Middleware(RequestId),
        Middleware(Pieces, answers=backend.answers),
        Middleware(Compression),
        *cors,
        Middleware(FixedPaths, endpoints=fixed),
    ]


class FixedPaths:
    """Answers what is asked at a path without parameters, which needs no search in the table. All else goes on.

    A search costs about as much as refusing a bad token, of which there may be thousands a second.
    """

    def __init__(self, app: ASGIApp, endpoints: dict[tuple[str, str], Answer]) -> None:
        """Wraps `app`; `endpoints` answer, by method and path."""
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
        answer = await endpoint(Request(scope, receive, send))
        await answer(scope, receive, send)


def _by_path() -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {}
    for row in TABLE:
        rows.setdefault(row.path, []).append(row)
    return rows


def _route(path: str, rows: list[Row], backend: Backend) -> Route:
    """Returns the one route of a path, so that another method is told all that are served."""
    endpoints = {row.method: _endpoint(row, backend) for row in rows}

    async def answer(request: Request) -> Response:
        return await endpoints["GET" if request.method == "HEAD" else request.method](request)

    return _ends_at_its_end(Route(path, answer, methods=list(endpoints)))


def _ends_at_its_end(route: AnyRoute) -> AnyRoute:
    """Returns a route whose path has no last newline: a dollar would also match before one."""
    route.path_regex = re.compile(route.path_regex.pattern.removesuffix("$") + r"\Z")
    return route


def _endpoint(row: Row, backend: Backend) -> Answer:
    reader = backend.readers.get(row.body or "")

    async def answer(request: Request) -> Response:
        begun = time.perf_counter()
        try:
            await backend.admission.admit(request, row)
            if not row.is_public:
                backend.answers.admit()
            async with reader.body(request) if reader else nullcontext(b"") as body:
                answer = await row.handler(request, body, backend)
        except Exception as error:  # noqa: BLE001  # whatever escapes a handler gets an answer
            answer = _refusal(request, row, backend, error)
        backend.traffic.add((row.method, row.path), answer.status_code, time.perf_counter() - begun)
        return answer

    return answer


def _refusal(request: Request, row: Row, backend: Backend, error: Exception) -> Response:
    """Returns the answer to a request that failed so.

    A name in the frame that caught the error would keep all frames that it passed, and so the request's body, until
    the garbage collector comes by.
    """
    refused = as_spanwise_error(request, error)
    backend.traffic.add_error(refused)
    return row.refusal(request, refused)


def _no_route(backend: Backend) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        refused, headers = no_route(request, error)
        try:
            await backend.admission.admit(request, None)
        except Exception as unknown:  # noqa: BLE001  # whatever escapes gets an answer
            refused, headers = as_spanwise_error(request, unknown), {}
        backend.traffic.add_error(refused)
        backend.traffic.add(NO_ROUTE, refused.status, 0.0)
        answer = json_refusal(request, refused)
        answer.headers.update(headers)
        return answer

    return answer
