"""The route table: what is served, to whom, and how large a body may be. A new route is a new row."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from spanwise.auth.scopes import Need
from spanwise.errors import SpanwiseError
from spanwise.http import health, public, traces, traffic
from spanwise.http.backend import Backend
from spanwise.http.errors import json_refusal
from spanwise.http.hosting import hosting_rows

Handler: TypeAlias = Callable[[Request, bytes, Backend], Awaitable[Response]]
Refusal: TypeAlias = Callable[[Request, SpanwiseError], Response]


class Row(Struct, frozen=True):
    """One route.

    Attributes:
        method: the HTTP method.
        path: the path, with its parameters in braces.
        handler: what answers.
        need: what a caller needs, where authorization is on; a row that is not public and needs nothing is open to
            nobody.
        is_public: whether it is open to everyone, authorization or not.
        body: whose limits the body is under; a route without takes none, and what is sent is not read.
        refusal: how an error is written.
        lists: whether it lists what scopes may be limited to: a caller sees those that its scopes name.
    """

    method: str
    path: str
    handler: Handler
    need: Need | None = None
    is_public: bool = False
    body: Literal["search", "ingest", "form"] | None = None
    refusal: Refusal = json_refusal
    lists: bool = False


_READ = Need.of("traces:read")
_WRITE = Need.of("traces:write")
_METRICS = Need.of("metrics:read")

TABLE: tuple[Row, ...] = (
    Row("GET", "/", public.overview, is_public=True),
    Row("GET", "/info", public.info, is_public=True),
    Row("GET", "/health", health.health, is_public=True),
    Row("GET", "/metrics", traffic.metrics, _METRICS),
    Row("GET", "/traces", traces.list_traces, _READ),
    Row("POST", "/traces/search", traces.search, _READ, body="search"),
    Row("GET", "/traces/filter-schema", traces.schema, _READ),
    Row("GET", "/traces/{trace_id}", traces.trace, _READ),
    Row("GET", "/trace_session_stats", traces.list_sessions, _READ),
    Row("POST", "/v1/traces", traces.export, _WRITE, body="ingest", refusal=traces.otlp_refusal),
    *(Row(**members) for members in hosting_rows()),
)
"""Every route, in the order in which paths are compared."""
