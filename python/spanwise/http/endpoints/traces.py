"""Ingests, searches, downloads and deletes traces.

See `docs/reference/api-search.md#trace-search` and `docs/reference/api-otlp.md`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import UNSET, Raw
from starlette.responses import Response, StreamingResponse

from spanwise.api.aggregates import AggregateRequest
from spanwise.api.attributes import AttributesQuery
from spanwise.api.facets import FacetsRequest
from spanwise.api.shared import StoreQuery
from spanwise.api.spans import SpanSearchRequest, ValueRange
from spanwise.api.traces import (
    Deleted,
    DeleteRequest,
    ExportQuery,
    SearchRequest,
    SessionsQuery,
    TraceDetailLevel,
    TraceQuery,
    TracesQuery,
)
from spanwise.errors import CancelledError, ValidationError
from spanwise.http.requests.caller import owner_of
from spanwise.http.requests.json import decode_json
from spanwise.http.requests.media_types import JSON
from spanwise.http.requests.query import decode_query
from spanwise.http.responses.as_of import AS_OF_HEADER, format_instant
from spanwise.http.responses.json import json_response
from spanwise.traces import filter_schema
from spanwise.traces.download import FORMATS

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.requests import Request

    from spanwise.http.core.app_state import AppState
    from spanwise.traces.view import View

Result = TypeVar("Result")
UNWATCHED_SECONDS = 0.02
"""Work runs unwatched for this long. Afterwards the disconnect check has the same interval."""
_search_request = msgspec.json.Decoder(SearchRequest)
_span_search_request = msgspec.json.Decoder(SpanSearchRequest)
_aggregate_request = msgspec.json.Decoder(AggregateRequest)
_facets_request = msgspec.json.Decoder(FacetsRequest)
_delete_request = msgspec.json.Decoder(DeleteRequest)


async def search_traces(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /traces/search`."""
    search = decode_json(request, body, _search_request)
    view = _view(request, app_state, decode_query(request, StoreQuery))
    return await respond_as_of(request, view, view.search(search))


async def search_spans(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /spans/search`."""
    search = decode_json(request, body, _span_search_request)
    view = _view(request, app_state, decode_query(request, StoreQuery))
    return await respond_as_of(request, view, view.search_spans(search))


async def aggregate_traces(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /traces/aggregate`."""
    aggregation = decode_json(request, body, _aggregate_request)
    view = _view(request, app_state, decode_query(request, StoreQuery))
    return await respond_as_of(request, view, view.aggregate(aggregation))


async def count_facets(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /traces/facets`."""
    facets = decode_json(request, body, _facets_request)
    view = _view(request, app_state, decode_query(request, StoreQuery))
    return await respond_as_of(request, view, view.facets(facets))


async def count_attributes(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /traces/attributes`: the attribute keys, for completion while typing."""
    query = decode_query(request, AttributesQuery)
    source = Raw((query.filter or "null").encode())
    view = _view(request, app_state, query)
    return await respond_as_of(request, view, view.attributes(source, query.prefix, query.limit))


async def list_traces(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /traces`: a page of traces without outputs, errors and span trees."""
    query = decode_query(request, TracesQuery)
    view = _view(request, app_state, query)
    return await respond_as_of(request, view, view.list_traces(query))


async def list_sessions(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /trace_session_stats`: a page of sessions."""
    query = decode_query(request, SessionsQuery)
    view = _view(request, app_state, query)
    return await respond_as_of(request, view, view.list_sessions(query))


async def show_trace(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /traces/{trace_id}`: one trace; with `?span_id=` one span of it; with `?path=` one value of that span."""
    query = decode_query(request, TraceQuery)
    view = _view(request, app_state, query)
    return await respond_as_of(request, view, _shown(view, request.path_params["trace_id"], query))


def _shown(view: View, trace_id: str, query: TraceQuery) -> Awaitable[bytes]:
    """Returns the part of one trace that a query selects.

    Raises:
        ValidationError: two parameters exclude each other, or a parameter lacks the one that it depends on.
    """
    max_bytes = None if query.max_bytes is UNSET else query.max_bytes
    if not query.span_id:
        for name, value in (("max_bytes", query.max_bytes), ("path", query.path), ("from", query.from_)):
            if value is not UNSET:
                raise ValidationError(f"Expected `span_id` beside `{name}` - at `{name}`")
        return view.trace(trace_id, query.detail or TraceDetailLevel.FULL)
    if query.detail is not UNSET:
        raise ValidationError("Expected no `detail` beside `span_id` - at `detail`")
    if query.path is UNSET:
        if query.from_ is not UNSET:
            raise ValidationError("Expected `path` beside `from` - at `from`")
        return view.span(trace_id, query.span_id, max_bytes)
    return view.value(trace_id, query.span_id, ValueRange(query.path, query.from_ or 0, max_bytes))


async def show_filter_schema(_request: Request, _body: bytes, _app_state: AppState) -> Response:
    """`GET /traces/filter-schema`."""
    return Response(filter_schema(), media_type=JSON)


async def delete_traces(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /traces/delete`: deletes the caller's traces that match a filter."""
    deletion = decode_json(request, body, _delete_request)
    if bytes(deletion.filter) == b"null":
        raise ValidationError("Expected `object`, got `null` - at `$.filter`")
    view = _view(request, app_state, decode_query(request, StoreQuery))
    return json_response(Deleted(await view.delete(deletion.filter, dry_run=deletion.dry_run)))


async def download_traces(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /traces/export`: the caller's traces that match a filter, as a file streamed while it is produced."""
    query = decode_query(request, ExportQuery)
    source = Raw((query.filter or "null").encode())
    view = _view(request, app_state, query)
    headers = {"Content-Disposition": f'attachment; filename="traces.{query.format}"', **as_of_header(view)}
    chunks = await view.export(source, query.format)
    return StreamingResponse(chunks, media_type=FORMATS[query.format], headers=headers)


async def ingest_traces(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /v1/traces`: stores the spans of an OTLP request, even if the client disconnects before the response."""
    content_type = request.headers.get("content-type", "")
    content_encoding = request.headers.get("content-encoding")
    store_id = app_state.databases.trace_store(decode_query(request, StoreQuery).db_id or None)
    report = await app_state.traces.ingest(body, content_type, content_encoding, store_id)
    return Response(report.response, media_type=report.content_type)


def _view(request: Request, app_state: AppState, query: StoreQuery) -> View:
    return app_state.traces.view(app_state.databases.trace_store(query.db_id or None), owner_of(request))


async def respond_as_of(request: Request, view: View, work: Awaitable[bytes]) -> Response:
    """Returns the JSON that `work` produces, with the time through which it is complete in a header."""
    headers = as_of_header(view)
    return Response(await unless_disconnected(request, work), media_type=JSON, headers=headers)


def as_of_header(view: View) -> dict[str, str]:
    """Returns the header with the time through which results are complete."""
    as_of = view.as_of()
    return {} if as_of is None else {AS_OF_HEADER: format_instant(as_of)}


async def unless_disconnected(request: Request, work: Awaitable[Result]) -> Result:
    """Returns the result of `work`, or cancels it when the client disconnects.

    Watching for a disconnect costs more than many searches, so it starts only after `UNWATCHED_SECONDS`.

    Raises:
        CancelledError: the client disconnected.
    """
    loop = asyncio.get_running_loop()
    watching: list[asyncio.Task[None]] = []
    try:
        async with asyncio.timeout(None) as patience:
            begin = loop.call_later(
                UNWATCHED_SECONDS, lambda: watching.append(loop.create_task(_watch(request, patience)))
            )
            try:
                return await work
            finally:
                begin.cancel()
                for watch in watching:
                    watch.cancel()
    except TimeoutError as error:
        if patience.expired():
            raise CancelledError("the client disconnected before its response was ready") from error
        raise


async def _watch(request: Request, patience: asyncio.Timeout) -> None:
    """Expires `patience` when the client disconnects."""
    message = await request.receive()
    while message["type"] != "http.disconnect":
        message = await request.receive()
    patience.reschedule(asyncio.get_running_loop().time())
