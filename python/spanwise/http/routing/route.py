"""The type of one route."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from spanwise.auth.scopes import Need
from spanwise.errors import SpanwiseError
from spanwise.http.backend import Backend
from spanwise.http.openapi.operation import Operation
from spanwise.http.responses.errors import json_error_response

Handler: TypeAlias = Callable[[Request, bytes, Backend], Awaitable[Response]]
"""Responds to a request, given its body."""

ErrorWriter: TypeAlias = Callable[[Request, SpanwiseError], Response]
"""Returns the response for an error."""


class Route(Struct, frozen=True):
    """One route.

    Attributes:
        method: the HTTP method.
        path: the path, with its parameters in braces.
        handler: responds to requests.
        operation: what the OpenAPI document says about it.
        need: the scopes that a caller needs where authorization is on. Nobody may use a route that is not public and
            has none.
        is_public: whether it is open to everyone, even where authorization is on.
        reads_token: whether a public route says other things to callers whose token is valid.
        body: the reader, and so the limits, of its request body; None if it has none, and then no body is read.
        write_error: writes its error responses.
        is_filtered_by_scope: whether it lists resources and leaves out those that the caller's scopes do not name.
        accepts_basic: whether the token may also be the password of Basic authentication.
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
