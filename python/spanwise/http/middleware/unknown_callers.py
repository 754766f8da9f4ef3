"""Limits the processor time of requests by unknown callers, and rejects the excess as cheaply as possible.

A caller is unknown if its token was not verified before, or if a required token is missing. During a flood from one
address, requests of its unknown callers get a 503 before their token is read. Known callers and other addresses are
still served. See `docs/reference/limits.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import HTTPConnection, Request
from starlette.websockets import WebSocket

from spanwise.errors import UnavailableError
from spanwise.http.requests.caller import caller_key
from spanwise.http.responses.errors import json_error_response
from spanwise.http.websocket.denial import deny

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from spanwise.auth.processor_budget import ProcessorBudget
    from spanwise.http.core.authorization import Authorizer
    from spanwise.http.core.route import ErrorWriter

_AUTHORIZATION = b"authorization"


class UnknownCallers:
    """Serves requests of unknown callers within a `ProcessorBudget`."""

    def __init__(
        self,
        app: ASGIApp,
        authorizer: Authorizer,
        budget: ProcessorBudget,
        public_paths: Mapping[str, bool],
        error_response: ErrorWriter = json_error_response,
    ) -> None:
        """Wraps `app`.

        Args:
            app: the application.
            authorizer: knows which tokens were verified before.
            budget: the processor time of unknown callers.
            public_paths: the paths that need no token, each with True if a token is read anyway.
            error_response: returns the response of a rejected request.
        """
        self._app = app
        self._authorizer = authorizer
        self._budget = budget
        self._public_paths = public_paths
        self._error_response = error_response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        reads_token = self._public_paths.get(scope["path"].removeprefix(scope.get("root_path", "")))
        is_public = reads_token is not None
        if reads_token is False or self._is_free(scope, is_public=is_public):
            await self._app(scope, receive, send)
            return
        caller = caller_key(HTTPConnection(scope), None)
        try:
            await self._budget.admit(caller, sum(len(name) + len(value) for name, value in scope["headers"]))
        except UnavailableError as error:
            if is_public:
                await self._app(_without_token(scope), receive, send)
            else:
                await self._reject(error, scope, receive, send)
            return
        state = scope.setdefault("state", {})
        await self._budget.run(caller, self._app(scope, receive, send), lambda: state.get("is_known", False))

    def _is_free(self, scope: Scope, *, is_public: bool) -> bool:
        """Returns True if a request is not charged to the budget: its caller is known, or the route is public."""
        given = [value.decode("latin-1") for name, value in scope["headers"] if name == _AUTHORIZATION]
        return (is_public and not given) or self._authorizer.knows(given)

    async def _reject(self, error: UnavailableError, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the error and ends the connection.

        Otherwise the next request on it would be parsed before its rejection.
        """
        if scope["type"] == "websocket":
            response = json_error_response(HTTPConnection(scope), error)
        else:
            response = self._error_response(Request(scope), error)
        if scope.get("http_version") == "2":
            scope.setdefault("state", {})["ends_connection"] = True  # our server closes the connection
        else:
            response.headers["Connection"] = "close"
        if scope["type"] == "websocket":
            await deny(WebSocket(scope, receive, send), response)
        else:
            await response(scope, receive, send)


def _without_token(scope: Scope) -> Scope:
    """Returns a copy of the request without its token, because a public page is served to everyone."""
    return {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != _AUTHORIZATION]}
