"""JSON responses."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from spanwise.http.requests.media_types import JSON


def json_response(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Returns `value`, encoded as JSON, as a response."""
    return Response(msgspec.json.encode(value), status_code=status, media_type=JSON, headers=headers)
