"""The route table: each route with its scopes and the limits of its body. Add an entry per route."""

from __future__ import annotations

from spanwise.api.aggregates import AggregateRequest, AggregateResponse
from spanwise.api.attributes import AttributesQuery, AttributesResponse
from spanwise.api.facets import FacetsRequest, FacetsResponse
from spanwise.api.filters import FilterSchema
from spanwise.api.otlp import ExportResponse, LogExportResponse, MetricExportResponse
from spanwise.api.service import Health, HealthQuery, Info, Overview
from spanwise.api.shared import StoreQuery
from spanwise.api.spans import SpanDetail, SpanPage, SpanSearchRequest, ValuePage
from spanwise.api.tail import TailDropped, TailEnd, TailGap, TailRequest, TailStarted, TailTrace
from spanwise.api.traces import (
    Deleted,
    DeleteRequest,
    DetailPage,
    ExportQuery,
    PreviewPage,
    SearchRequest,
    SessionPage,
    SessionsQuery,
    SummaryPage,
    TraceDetail,
    TraceQuery,
    TraceSkeleton,
    TracesQuery,
)
from spanwise.auth.scopes import Need
from spanwise.http.core.operation import Operation, ResponseSpec
from spanwise.http.core.route import Handler, Route
from spanwise.http.endpoints import docs, health, info, metrics, openapi, otlp, tail, traces
from spanwise.http.requests.media_types import EVENT_STREAM, HTML, PLAIN_TEXT
from spanwise.http.responses.errors import otlp_error_response
from spanwise.http.routing.approvals import approval_routes
from spanwise.http.routing.hosted import hosted_routes
from spanwise.http.routing.ui import PAGE_ROUTE
from spanwise.traces.download import FORMATS

_FILES = tuple(ResponseSpec(200, media_type=media_type) for media_type in FORMATS.values())
_READ = Need.of("traces:read")
_WRITE = Need.of("traces:write")
_DELETE = Need.of("traces:delete")
_METRICS = Need.of("metrics:read")

LANGFUSE_PREFIX = "/api/public/otel"
"""Langfuse SDKs send OTLP to this path below their configured address."""


def _otlp(path: str, handler: Handler, operation: Operation, *, accepts_basic: bool = False) -> Route:
    return Route(
        "POST",
        path,
        handler,
        operation,
        _WRITE,
        body="ingest",
        write_error=otlp_error_response,
        accepts_basic=accepts_basic,
    )


def _export_operation(name: str, summary: str, response: type) -> Operation:
    return Operation(name, summary, (response,), query=StoreQuery, is_otlp=True)


_SPANS = "Ingests spans from an OTLP export request"


TABLE: tuple[Route, ...] = (
    Route(
        "GET",
        "/",
        info.show_overview,
        Operation(
            "get_overview",
            "Returns the name and version of the service, or redirects a browser to the user interface",
            (Overview,),
            other_responses=(ResponseSpec(307),),
        ),
        is_public=True,
    ),
    PAGE_ROUTE,
    Route(
        "GET",
        "/info",
        info.show_info,
        Operation("get_info", "Returns how to authenticate and how many components are hosted", (Info,)),
        is_public=True,
        reads_token=True,
    ),
    Route(
        "GET",
        "/health",
        health.show_health,
        Operation(
            "get_health", "Returns whether the service is alive, or whether it is ready", (Health,), query=HealthQuery
        ),
        is_public=True,
    ),
    Route(
        "GET",
        "/openapi.json",
        openapi.show_document,
        Operation("get_openapi", "Returns this OpenAPI document"),
        is_public=True,
        reads_token=True,
    ),
    Route(
        "GET",
        "/docs",
        docs.show_swagger_ui,
        Operation("get_docs", "Shows this API in Swagger UI, to read and to try", media_type=HTML),
        is_public=True,
    ),
    Route(
        "GET",
        "/redoc",
        docs.show_redoc,
        Operation("get_redoc", "Shows this API in ReDoc, to read", media_type=HTML),
        is_public=True,
    ),
    Route(
        "GET",
        "/docs/oauth2-redirect",
        docs.show_oauth2_redirect,
        Operation("get_oauth2_redirect", "Says that no sign-in redirects here", media_type=HTML),
        is_public=True,
    ),
    Route(
        "GET",
        "/metrics",
        metrics.show_metrics,
        Operation("get_metrics", "Returns the metrics of the service, for Prometheus", media_type=PLAIN_TEXT),
        _METRICS,
    ),
    Route(
        "GET",
        "/traces",
        traces.list_traces,
        Operation("get_traces", "Returns a page of traces without their trees", (SummaryPage,), query=TracesQuery),
        _READ,
    ),
    Route(
        "POST",
        "/traces/search",
        traces.search_traces,
        Operation(
            "search_traces",
            "Searches traces or sessions with a filter and returns one page",
            (DetailPage, PreviewPage, SessionPage),
            query=StoreQuery,
            request=SearchRequest,
        ),
        _READ,
        body="search",
    ),
    Route(
        "POST",
        "/spans/search",
        traces.search_spans,
        Operation(
            "search_spans",
            "Searches spans with a condition and returns one page",
            (SpanPage,),
            query=StoreQuery,
            request=SpanSearchRequest,
        ),
        _READ,
        body="search",
    ),
    Route(
        "POST",
        "/traces/aggregate",
        traces.aggregate_traces,
        Operation(
            "aggregate_traces",
            "Computes counts, sums, quantiles and histograms of traces, by time and by fields",
            (AggregateResponse,),
            query=StoreQuery,
            request=AggregateRequest,
        ),
        _READ,
        body="search",
    ),
    Route(
        "POST",
        "/traces/facets",
        traces.count_facets,
        Operation(
            "count_facets",
            "Counts the values of fields among the traces that match a filter",
            (FacetsResponse,),
            query=StoreQuery,
            request=FacetsRequest,
        ),
        _READ,
        body="search",
    ),
    Route(
        "POST",
        "/traces/tail",
        tail.tail_traces,
        Operation(
            "tail_traces",
            "Streams the traces that match a filter as they are committed, as server-sent events",
            (TailTrace, TailStarted, TailDropped, TailGap, TailEnd),
            media_type=EVENT_STREAM,
            query=StoreQuery,
            request=TailRequest,
        ),
        _READ,
        body="search",
    ),
    Route(
        "POST",
        "/traces/delete",
        traces.delete_traces,
        Operation(
            "delete_traces",
            "Deletes the traces that match a filter",
            (Deleted,),
            query=StoreQuery,
            request=DeleteRequest,
        ),
        _DELETE,
        body="search",
    ),
    Route(
        "GET",
        "/traces/filter-schema",
        traces.show_filter_schema,
        Operation("get_filter_schema", "Returns the fields and operators of filters", (FilterSchema,)),
        _READ,
    ),
    Route(
        "GET",
        "/traces/attributes",
        traces.count_attributes,
        Operation(
            "get_traces_attributes",
            "Counts the keys of attributes among the traces that match a filter",
            (AttributesResponse,),
            query=AttributesQuery,
        ),
        _READ,
    ),
    Route(
        "GET",
        "/traces/export",
        traces.download_traces,
        Operation(
            "get_traces_export",
            "Downloads the traces that match a filter, as a file",
            media_type=_FILES[0].media_type,
            other_responses=_FILES[1:],
            query=ExportQuery,
        ),
        _READ,
    ),
    Route(
        "GET",
        "/traces/{trace_id}",
        traces.show_trace,
        Operation(
            "get_trace",
            "Returns one trace with its tree or in columns, one of its spans, or one value of a span",
            (TraceDetail, TraceSkeleton, SpanDetail, ValuePage),
            query=TraceQuery,
        ),
        _READ,
    ),
    Route(
        "GET",
        "/trace_session_stats",
        traces.list_sessions,
        Operation(
            "get_trace_session_stats",
            "Returns a page of sessions with the statistics of their traces",
            (SessionPage,),
            query=SessionsQuery,
        ),
        _READ,
    ),
    _otlp("/v1/traces", traces.ingest_traces, _export_operation("export_traces", _SPANS, ExportResponse)),
    _otlp(
        LANGFUSE_PREFIX + "/v1/traces",
        traces.ingest_traces,
        _export_operation("export_langfuse_traces", _SPANS, ExportResponse),
        accepts_basic=True,
    ),
    _otlp(
        "/v1/logs",
        otlp.ingest_logs,
        _export_operation(
            "export_logs",
            "Ingests log records that carry content of spans from an OTLP export request, and drops others",
            LogExportResponse,
        ),
    ),
    _otlp(
        "/v1/metrics",
        otlp.drop_metrics,
        _export_operation(
            "export_metrics", "Accepts the metrics of an OTLP export request and drops them", MetricExportResponse
        ),
    ),
    *hosted_routes(),
    *approval_routes(),
)
"""Every route, in the order in which paths are matched."""

OTLP_TABLE: tuple[Route, ...] = tuple(route for route in TABLE if route.operation.is_otlp or route.path == "/health")
"""The routes of the port that exporters use by default."""
