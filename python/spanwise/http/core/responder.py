"""Turns a route into the function that responds to its requests. Every server of the service shares it."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeAlias

from spanwise.fair_budget import current_caller
from spanwise.http.core.reader import reader_rejection
from spanwise.http.requests.caller import caller_key, sender_of
from spanwise.http.responses.errors import as_spanwise_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.core.app_state import AppState
    from spanwise.http.core.route import Route

Endpoint: TypeAlias = "Callable[[Request], Awaitable[Response]]"


def responder(route: Route, app_state: AppState) -> Endpoint:
    """Returns the function that responds to the requests of one route. It never raises an error of a request.

    It authorizes the caller, reads the body within its limits, runs the handler, and counts the request.
    """
    reader = app_state.body_readers.get(route.body or "")
    reject = reader_rejection(route, app_state.writer_url) if app_state.is_reader else None

    async def respond(request: Request) -> Response:
        started = time.perf_counter()
        try:
            await app_state.authorizer.authorize(request, route)
            current_caller.set(caller_key(request, getattr(request.state, "identity", None)))
            request.state.is_public = route.is_public
            if reject is not None:
                reject()
            if not route.is_public:  # browsers and mail programs add parameters to links of public pages
                app_state.unknown_parameters.check(request, route.path, route.operation)
                app_state.response_budget.admit()
            async with reader.body(request) if reader else nullcontext(b"") as body:
                response = await route.handler(request, body, app_state)
        except Exception as error:  # noqa: BLE001  # every failure gets a response
            response = _error_response(request, route, app_state, error)
        app_state.metrics.add((route.method, route.path), response.status_code, time.perf_counter() - started)
        return response

    return respond


def _error_response(request: Request, route: Route, app_state: AppState, error: Exception) -> Response:
    """Returns the response to a failed request.

    This is a separate function because a local variable with the error would form a cycle with the traceback. That
    cycle would keep the request body alive until the next garbage collection.
    """
    reported = as_spanwise_error(request, error)
    if route.operation.is_otlp:
        app_state.traces.exports.refused(reported, sender_of(request))
    app_state.metrics.add_error(reported)
    return route.write_error(request, reported)
