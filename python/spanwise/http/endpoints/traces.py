"""Ingests, searches, downloads and deletes traces.

See `docs/reference/api.md#trace-search` and `docs/reference/api.md#otlp`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Raw
from starlette.responses import Response, StreamingResponse

from spanwise.errors import CancelledError, ValidationError
from spanwise.http.media_types import JSON
from spanwise.http.requests.caller import owner_of
from spanwise.http.requests.json import decode_json
from spanwise.http.requests.query import decode_query
from spanwise.http.responses.json import json_response
from spanwise.models import (
    Deleted,
    DeleteRequest,
    ExportQuery,
    SearchRequest,
    SessionsQuery,
    StoreQuery,
    TraceQuery,
    TracesQuery,
)
from spanwise.traces import filter_schema
from spanwise.traces.download import FORMATS

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.requests import Request

    from spanwise.http.backend import Backend
    from spanwise.traces.view import View

Result = TypeVar("Result")
_search_request = msgspec.json.Decoder(SearchRequest)
_delete_request = msgspec.json.Decoder(DeleteRequest)


async def search_traces(request: Request, body: bytes, backend: Backend) -> Response:
    """`POST /traces/search`."""
    search = decode_json(request, body, _search_request)
    view = _view(request, backend, decode_query(request, StoreQuery))
    return Response(await unless_disconnected(request, view.search(search)), media_type=JSON)


async def list_traces(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /traces`: a page of traces without their outputs, errors and span trees."""
    query = decode_query(request, TracesQuery)
    page = _view(request, backend, query).list_traces(query)
    return Response(await unless_disconnected(request, page), media_type=JSON)


async def list_sessions(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /trace_session_stats`: a page of sessions."""
    query = decode_query(request, SessionsQuery)
    page = _view(request, backend, query).list_sessions(query)
    return Response(await unless_disconnected(request, page), media_type=JSON)


async def show_trace(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /traces/{trace_id}`: one trace, or with `?span_id=` one of its spans."""
    query = decode_query(request, TraceQuery)
    view = _view(request, backend, query)
    trace_id = request.path_params["trace_id"]
    found = view.span(trace_id, query.span_id) if query.span_id else view.trace(trace_id)
    return Response(await unless_disconnected(request, found), media_type=JSON)


async def show_filter_schema(_request: Request, _body: bytes, _backend: Backend) -> Response:
    """`GET /traces/filter-schema`."""
    return Response(filter_schema(), media_type=JSON)


async def delete_traces(request: Request, body: bytes, backend: Backend) -> Response:
    """`POST /traces/delete`: deletes the caller's traces that match a filter."""
    deletion = decode_json(request, body, _delete_request)
    if bytes(deletion.filter) == b"null":
        raise ValidationError("Expected `object`, got `null` - at `$.filter`")
    view = _view(request, backend, decode_query(request, StoreQuery))
    return json_response(Deleted(await view.delete(deletion.filter, dry_run=deletion.dry_run)))


async def download_traces(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /traces/export`: the caller's traces that match a filter, as a file that is produced while it is read."""
    query = decode_query(request, ExportQuery)
    source = Raw((query.filter or "null").encode())
    chunks = await _view(request, backend, query).export(source, query.format)
    disposition = {"Content-Disposition": f'attachment; filename="traces.{query.format}"'}
    return StreamingResponse(chunks, media_type=FORMATS[query.format], headers=disposition)


async def ingest_traces(request: Request, body: bytes, backend: Backend) -> Response:
    """`POST /v1/traces`: stores the spans of an OTLP request, even if the client leaves before the response."""
    content_type = request.headers.get("content-type", "")
    content_encoding = request.headers.get("content-encoding")
    store_id = backend.databases.trace_store(decode_query(request, StoreQuery).db_id or None)
    report = await backend.traces.ingest(body, content_type, content_encoding, store_id)
    return Response(report.response, media_type=report.content_type)


def _view(request: Request, backend: Backend, query: StoreQuery) -> View:
    return backend.traces.view(backend.databases.trace_store(query.db_id or None), owner_of(request))


async def unless_disconnected(request: Request, work: Awaitable[Result]) -> Result:
    """Returns the result of `work`, or cancels it when the client disconnects.

    Raises:
        CancelledError: the client disconnected.
    """
    working = asyncio.ensure_future(work)
    disconnected = asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait([working, disconnected], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise CancelledError("the client disconnected before its response was ready")
    finally:
        working.cancel()
        disconnected.cancel()
        # A failed task holds its traceback, which holds this frame and its callers' with the request body.
        del working


async def _disconnect(request: Request) -> None:
    message = await request.receive()
    while message["type"] != "http.disconnect":
        message = await request.receive()
