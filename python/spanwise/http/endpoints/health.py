"""Says whether the service is alive, and whether it is ready."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from spanwise.errors import UnavailableError
from spanwise.http.media_types import JSON
from spanwise.http.requests.query import decode_query
from spanwise.http.schemas.service import Health, HealthQuery

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.http.backend import Backend

_INSTANTIATED_AT = datetime.now(UTC).isoformat().replace("+00:00", "Z")
_ALIVE = msgspec.json.encode(Health(status="ok", instantiated_at=_INSTANTIATED_AT))


async def show_health(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /health`: whether the service is alive; with `?ready=true`, whether all it serves can be served."""
    if decode_query(request, HealthQuery).ready == "true" and (reason := await backend.not_ready()) is not None:
        raise UnavailableError(f"not ready: {reason}")
    return Response(_ALIVE, media_type=JSON)
