"""The route table: what is served, to whom, and how large a body may be. A new route is a new row."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from spanwise.auth.scopes import Need
from spanwise.errors import SpanwiseError
from spanwise.http import metrics
from spanwise.http.backend import Backend
from spanwise.http.endpoints import docs, health, info, traces
from spanwise.http.openapi import describe as openapi
from spanwise.http.openapi.describe import Answer, Operation
from spanwise.http.responses.errors import json_refusal
from spanwise.http.routing.hosted import hosting_rows
from spanwise.models import (
    Deleted,
    DeleteRequest,
    DetailPage,
    ExportQuery,
    ExportResponse,
    FilterSchema,
    Health,
    HealthQuery,
    Info,
    Overview,
    SearchRequest,
    SessionPage,
    SessionsQuery,
    StoreQuery,
    SummaryPage,
    TraceDetail,
    TraceNode,
    TraceQuery,
    TracesQuery,
)
from spanwise.traces.download import FORMATS

Handler: TypeAlias = Callable[[Request, bytes, Backend], Awaitable[Response]]
Refusal: TypeAlias = Callable[[Request, SpanwiseError], Response]


class Row(Struct, frozen=True):
    """One route.

    Attributes:
        method: the HTTP method.
        path: the path, with its parameters in braces.
        handler: what answers.
        operation: what is said about it.
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
    operation: Operation
    need: Need | None = None
    is_public: bool = False
    body: Literal["search", "ingest", "form"] | None = None
    refusal: Refusal = json_refusal
    lists: bool = False


HTML = "text/html"
_FILES = tuple(Answer(200, media_type=media_type) for media_type in FORMATS.values())
_READ = Need.of("traces:read")
_WRITE = Need.of("traces:write")
_DELETE = Need.of("traces:delete")
_METRICS = Need.of("metrics:read")

TABLE: tuple[Row, ...] = (
    Row(
        "GET",
        "/",
        info.overview,
        Operation("get_overview", "Who answers here", (Overview,)),
        is_public=True,
    ),
    Row(
        "GET",
        "/info",
        info.info,
        Operation("get_info", "How to sign in, and how much is hosted", (Info,)),
        is_public=True,
    ),
    Row(
        "GET",
        "/health",
        health.health,
        Operation("get_health", "Whether the service is alive, or ready", (Health,), query=HealthQuery),
        is_public=True,
    ),
    Row(
        "GET",
        "/openapi.json",
        openapi.document,
        Operation("get_openapi", "This description"),
        is_public=True,
    ),
    Row(
        "GET",
        "/docs",
        docs.swagger,
        Operation("get_docs", "This description, to read and to try", media_type=HTML),
        is_public=True,
    ),
    Row(
        "GET",
        "/redoc",
        docs.redoc_page,
        Operation("get_redoc", "This description, to read", media_type=HTML),
        is_public=True,
    ),
    Row(
        "GET",
        "/docs/oauth2-redirect",
        docs.no_redirect,
        Operation("get_oauth2_redirect", "Where no sign-in leads to", media_type=HTML),
        is_public=True,
    ),
    Row(
        "GET",
        "/metrics",
        metrics.metrics,
        Operation("get_metrics", "What the service counts about itself, for Prometheus", media_type="text/plain"),
        _METRICS,
    ),
    Row(
        "GET",
        "/traces",
        traces.list_traces,
        Operation("get_traces", "A page of traces without their trees", (SummaryPage,), query=TracesQuery),
        _READ,
    ),
    Row(
        "POST",
        "/traces/search",
        traces.search,
        Operation(
            "search_traces",
            "A page of traces with their trees, or of sessions, by a composable filter",
            (DetailPage, SessionPage),
            query=StoreQuery,
            request=SearchRequest,
        ),
        _READ,
        body="search",
    ),
    Row(
        "POST",
        "/traces/delete",
        traces.delete,
        Operation(
            "delete_traces",
            "Deletes the traces that a filter matches",
            (Deleted,),
            query=StoreQuery,
            request=DeleteRequest,
        ),
        _DELETE,
        body="search",
    ),
    Row(
        "GET",
        "/traces/filter-schema",
        traces.schema,
        Operation("get_filter_schema", "What a filter may be made of", (FilterSchema,)),
        _READ,
    ),
    Row(
        "GET",
        "/traces/export",
        traces.export_traces,
        Operation(
            "get_traces_export",
            "The traces that a filter matches, as a file",
            media_type=_FILES[0].media_type,
            others=_FILES[1:],
            query=ExportQuery,
        ),
        _READ,
    ),
    Row(
        "GET",
        "/traces/{trace_id}",
        traces.trace,
        Operation("get_trace", "One trace with its tree, or one span", (TraceDetail, TraceNode), query=TraceQuery),
        _READ,
    ),
    Row(
        "GET",
        "/trace_session_stats",
        traces.list_sessions,
        Operation("get_trace_session_stats", "A page of sessions", (SessionPage,), query=SessionsQuery),
        _READ,
    ),
    Row(
        "POST",
        "/v1/traces",
        traces.export,
        Operation("export_traces", "Stores an OTLP export", (ExportResponse,), query=StoreQuery, is_otlp=True),
        _WRITE,
        body="ingest",
        refusal=traces.otlp_refusal,
    ),
    *(Row(**members) for members in hosting_rows()),
)
"""Every route, in the order in which paths are compared."""
