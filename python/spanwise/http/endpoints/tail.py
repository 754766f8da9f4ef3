"""Streams traces as they are committed.

See `docs/reference/api-search.md#tail`.
"""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import aclosing
from typing import TYPE_CHECKING

import msgspec

from spanwise.api.shared import StoreQuery
from spanwise.api.tail import TailRequest
from spanwise.auth.claims import ExpiredTokenError
from spanwise.errors import UnauthenticatedError, UnavailableError
from spanwise.http.core.authorization import AuditedRequest
from spanwise.http.requests.caller import owner_of
from spanwise.http.requests.json import decode_json
from spanwise.http.requests.query import decode_query
from spanwise.http.responses.event_stream import EventStreamResponse
from spanwise.runs.active_run import escape_line_ends

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.core.app_state import AppState
    from spanwise.traces.tail import TailConnection, TailEvent

CHECK_SECONDS = 20.0
"""The token of a stream is verified again at this interval, because its key may have been revoked."""
MIN_CHECK_SECONDS = 1.0
"""The interval of verification between the token's own expiry and the end of the clock leeway."""

_tail_request = msgspec.json.Decoder(TailRequest)


async def tail_traces(request: Request, body: bytes, app_state: AppState) -> Response:
    """`POST /traces/tail`: the matching traces from now on, or after `Last-Event-ID`."""
    tail = decode_json(request, body, _tail_request)
    query = decode_query(request, StoreQuery)
    view = app_state.traces.view(app_state.databases.trace_store(query.db_id or None), owner_of(request))
    connection = await view.tail(tail.filter, request.headers.get("last-event-id"))
    return EventStreamResponse(_frames(request, app_state, connection), connection.close)


async def _frames(request: Request, app_state: AppState, connection: TailConnection) -> AsyncGenerator[bytes, None]:
    watching = asyncio.create_task(_watch_token(request, app_state, connection))
    try:
        async with aclosing(connection.events()) as batches:
            async for events in batches:
                yield b"".join(map(_frame, events))
    finally:
        watching.cancel()


def _frame(event: TailEvent) -> bytes:
    position = f"id: {event.id}\n" if event.id else ""
    return b"%sevent: %s\ndata: %s\n\n" % (position.encode(), event.name.encode(), escape_line_ends(event.body))


async def _watch_token(request: Request, app_state: AppState, connection: TailConnection) -> None:
    """Ends a stream once its token is no longer valid. A stream of an unverified caller does not expire."""
    if app_state.authorizer.callers != "tokens":
        return
    expires_at = float(request.state.identity.claims.get("exp", math.inf))
    audited = AuditedRequest(request.method, "/traces/tail", None, request.state.request_id)
    while True:
        await asyncio.sleep(min(CHECK_SECONDS, max(MIN_CHECK_SECONDS, expires_at - time.time())))
        try:
            await app_state.authorizer.authenticate(request, request.headers.getlist("authorization"), audited)
        except ExpiredTokenError:
            connection.end("token_expired")
            return
        except (UnauthenticatedError, UnavailableError):
            connection.end("unauthorized")
            return
