"""From the route table to an ASGI application."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import Route
from starlette.types import ASGIApp

from spanwise.http.bodies import BodyReader
from spanwise.http.errors import as_spanwise_error, no_route
from spanwise.http.middleware import Authorization, RequestId
from spanwise.http.routes import TABLE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.routes import Row
    from spanwise.settings import Settings
    from spanwise.traces.service import Traces

Application: TypeAlias = ASGIApp
Lifespan: TypeAlias = "Callable[[object], AbstractAsyncContextManager[None]]"


def build_application(
    traces: Traces,
    settings: Settings,
    lifespan: Lifespan,
) -> Application:
    """Returns the application that serves the route table.

    Args:
        traces: what the handlers answer from.
        settings: the limits of bodies.
        lifespan: what surrounds the time in which it serves.
    """
    readers = {
        "search": BodyReader(settings.search_body_bytes, settings.search_waiting_bytes, settings.body_deadline_seconds),
        "ingest": BodyReader(settings.ingest_body_bytes, settings.ingest_waiting_bytes, settings.body_deadline_seconds),
    }
    routes = [
        Route(row.path, _endpoint(row, readers.get(row.body or ""), traces), methods=[row.method]) for row in TABLE
    ]
    application = Starlette(
        routes=routes,
        middleware=[Middleware(RequestId), Middleware(Authorization)],
        exception_handlers={HTTPException: no_route},
        lifespan=lifespan,
    )
    # A path is one of the table or none: nothing is redirected to a path that looks like it.
    application.router.redirect_slashes = False
    return application


def _endpoint(row: Row, reader: BodyReader | None, traces: Traces) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            async with reader.body(request) if reader else nullcontext(b"") as body:
                return await row.handler(request, body, traces)
        except Exception as error:  # noqa: BLE001  # whatever escapes a handler gets an answer
            return row.refusal(request, as_spanwise_error(request, error))

    return answer
