"""Reports whether the service is alive and whether it is ready."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import UNSET

from spanwise.api.service import Health, HealthQuery
from spanwise.errors import UnavailableError
from spanwise.http.requests.query import decode_query
from spanwise.http.responses.as_of import format_instant
from spanwise.http.responses.json import json_response

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.core.app_state import AppState

_INSTANTIATED_AT = datetime.now(UTC).isoformat().replace("+00:00", "Z")


async def show_health(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /health`: liveness; with `?ready=true`, readiness of every part of the service."""
    if decode_query(request, HealthQuery).ready == "true" and (reason := await app_state.not_ready()) is not None:
        raise UnavailableError(f"not ready: {reason}")
    as_of = app_state.traces.as_of() if app_state.is_reader else None
    health = Health(
        status="ok",
        instantiated_at=_INSTANTIATED_AT,
        as_of=UNSET if as_of is None else format_instant(as_of),
        lag_seconds=UNSET if as_of is None else round(max(0.0, time.time() - as_of), 3),
    )
    return json_response(health)
