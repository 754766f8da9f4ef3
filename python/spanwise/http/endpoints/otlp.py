"""Ingests OTLP log records and drops OTLP metrics. Spans are handled in `traces`.

See `docs/reference/api-otlp.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from spanwise.api.shared import StoreQuery
from spanwise.http.requests.query import decode_query

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.http.core.app_state import AppState


async def ingest_logs(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /v1/logs`: stores the span data in log records, even if the client disconnects before the response."""
    store_id = app_state.databases.trace_store(decode_query(request, StoreQuery).db_id or None)
    report = await app_state.traces.ingest_logs(body, *_encoding_of(request), store_id)
    return Response(report.response, media_type=report.content_type)


async def drop_metrics(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /v1/metrics`: accepts metrics and stores nothing."""
    app_state.databases.trace_store(decode_query(request, StoreQuery).db_id or None)
    report = await app_state.traces.drop_metrics(body, *_encoding_of(request))
    return Response(report.response, media_type=report.content_type)


def _encoding_of(request: Request) -> tuple[str, str | None]:
    return request.headers.get("content-type", ""), request.headers.get("content-encoding")
