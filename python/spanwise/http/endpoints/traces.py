"""The routes of traces: OTLP comes in, searches and traces go out.

Source: specification, "POST /traces/search"; OTLP/HTTP 1.x, "OTLP/HTTP Request" and "OTLP/HTTP Response".
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Raw
from starlette.responses import Response, StreamingResponse

from spanwise.errors import CancelledError, SpanwiseError, ValidationError
from spanwise.http.requests.json import body_of, media_type
from spanwise.http.requests.query import query_of
from spanwise.http.responses.errors import headers_of, json_refusal
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
from spanwise.traces import filter_schema, otlp_status
from spanwise.traces.download import FORMATS

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.requests import Request

    from spanwise.http.backend import Backend
    from spanwise.traces.view import View

JSON = "application/json"
PROTOBUF = "application/x-protobuf"

Result = TypeVar("Result")
_search = msgspec.json.Decoder(SearchRequest)
_deletion = msgspec.json.Decoder(DeleteRequest)


async def search(request: Request, body: bytes, backend: Backend) -> Response:
    """`POST /traces/search`."""
    asked = body_of(request, body, _search)
    return await _finished(request, _view(request, backend, query_of(request, StoreQuery)).search(asked))


async def list_traces(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /traces`: a page of runs without their output, error and span tree."""
    query = query_of(request, TracesQuery)
    return await _finished(request, _view(request, backend, query).list_traces(query))


async def list_sessions(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /trace_session_stats`: a page of sessions."""
    query = query_of(request, SessionsQuery)
    return await _finished(request, _view(request, backend, query).list_sessions(query))


async def delete(request: Request, body: bytes, backend: Backend) -> Response:
    """`POST /traces/delete`: the traces of the caller that a filter matches."""
    asked = body_of(request, body, _deletion)
    if bytes(asked.filter) == b"null":
        raise ValidationError("Expected `object`, got `null` - at `$.filter`")
    view = _view(request, backend, query_of(request, StoreQuery))
    deleted = await view.delete(asked.filter, dry_run=asked.dry_run)
    return Response(msgspec.json.encode(Deleted(deleted)), media_type=JSON)


async def export_traces(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /traces/export`: the traces of the caller that a filter matches, as a file, made as it is taken."""
    query = query_of(request, ExportQuery)
    source = Raw((query.filter or "null").encode())
    pieces = await _view(request, backend, query).export(source, query.format)
    disposition = {"Content-Disposition": f'attachment; filename="traces.{query.format}"'}
    return StreamingResponse(pieces, media_type=FORMATS[query.format], headers=disposition)


async def trace(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /traces/{trace_id}`, with `?span_id=` one span of it."""
    query = query_of(request, TraceQuery)
    view = _view(request, backend, query)
    trace_id = request.path_params["trace_id"]
    return await _finished(request, view.span(trace_id, query.span_id) if query.span_id else view.trace(trace_id))


async def schema(_request: Request, _body: bytes, _backend: Backend) -> Response:
    """`GET /traces/filter-schema`."""
    return Response(filter_schema(), media_type=JSON)


async def export(request: Request, body: bytes, backend: Backend) -> Response:
    """`POST /v1/traces`: an OTLP export. It is stored even if the caller does not wait for the answer."""
    content_type = request.headers.get("content-type", "")
    content_encoding = request.headers.get("content-encoding")
    db_id = query_of(request, StoreQuery).db_id
    report = await backend.traces.ingest(body, content_type, content_encoding, db_id or None)
    return Response(report.response, media_type=report.content_type)


async def _finished(request: Request, answer: Awaitable[bytes]) -> Response:
    return Response(await unless_disconnected(request, answer), media_type=JSON)


def _view(request: Request, backend: Backend, query: StoreQuery) -> View:
    return backend.traces.view(query.db_id or None, request.state.identity.owner_filter)


def otlp_refusal(request: Request, error: SpanwiseError) -> Response:
    """Returns the answer to an export that was refused: a `google.rpc.Status` in the caller's own encoding."""
    content_type = media_type(request)
    if content_type not in (JSON, PROTOBUF):
        return json_refusal(request, error)
    return Response(
        otlp_status(str(error), content_type, error.status),
        status_code=error.status,
        headers=headers_of(error),
        media_type=content_type,
    )


async def unless_disconnected(request: Request, answer: Awaitable[Result]) -> Result:
    """Returns the answer, or cancels it when the caller leaves."""
    answering = asyncio.ensure_future(answer)
    leaving = asyncio.ensure_future(_departure(request))
    try:
        await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            return answering.result()
        raise CancelledError("the caller left before its answer was ready")
    finally:
        answering.cancel()
        leaving.cancel()
        del answering  # it holds the error whose traceback holds this frame, and those above it the body


async def _departure(request: Request) -> None:
    message = await request.receive()
    while message["type"] != "http.disconnect":
        message = await request.receive()
