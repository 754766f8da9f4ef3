"""The type of one route."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from spanwise.auth.scopes import Need
from spanwise.errors import SpanwiseError
from spanwise.http.core.app_state import AppState
from spanwise.http.core.operation import Operation
from spanwise.http.responses.errors import json_error_response

Handler: TypeAlias = Callable[[Request, bytes, AppState], Awaitable[Response]]
"""Responds to a request, given its body."""

ErrorWriter: TypeAlias = Callable[[Request, SpanwiseError], Response]
"""Returns the response for an error."""


class Route(Struct, frozen=True):
    """One route.

    Attributes:
        method: the HTTP method.
        path: the path, with its parameters in braces.
        handler: responds to requests.
        operation: its description in the OpenAPI document.
        need: the scopes that a caller needs when authorization is on. Without scopes, a route that is not public
            rejects every caller.
        is_public: True if it is open to everyone, even when authorization is on.
        reads_token: True if a public route returns more to callers with a valid token.
        body: the reader of its request body, which sets its limits; None if the route reads no body.
        write_error: writes its error responses.
        is_filtered_by_scope: True if it lists resources and omits those outside the caller's scopes.
        accepts_basic: True if the token may also be sent as the password of Basic authentication.
    """

    method: str
    path: str
    handler: Handler
    operation: Operation
    need: Need | None = None
    is_public: bool = False
    reads_token: bool = False
    body: Literal["search", "ingest", "form"] | None = None
    write_error: ErrorWriter = json_error_response
    is_filtered_by_scope: bool = False
    accepts_basic: bool = False
