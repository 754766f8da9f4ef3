"""Is the service alive, and does it take in what it is sent?"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from spanwise.errors import UnavailableError
from spanwise.http.requests.query import query_of
from spanwise.models import Health, HealthQuery

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.http.backend import Backend

_INSTANTIATED_AT = datetime.now(UTC).isoformat().replace("+00:00", "Z")
_ALIVE = msgspec.json.encode(Health(status="ok", instantiated_at=_INSTANTIATED_AT))


async def health(request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /health`: alive. `?ready=true`: only while all that is served can be."""
    if query_of(request, HealthQuery).ready == "true" and not backend.is_ready:
        raise UnavailableError("not all that is served is open, or takes in")
    return Response(_ALIVE, media_type="application/json")
