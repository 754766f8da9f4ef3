"""From an error to its answer. The error's class gives the status and the code.

Every error answer is `{"detail": str, "error_code": str}`. The text of a 500 is fixed; what happened goes to
the log, under the request id that the caller was given.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec
from starlette.responses import Response

from spanwise.errors import MethodNotAllowedError, NotFoundError, SpanwiseError, UnauthenticatedError, UnavailableError
from spanwise.models import ErrorBody

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.exceptions import HTTPException
    from starlette.requests import HTTPConnection, Request

INTERNAL_DETAIL = "the service failed; its log has the cause under the request id of this answer"
RETRY_AFTER_SECONDS = 1

_encoder = msgspec.json.Encoder()
_log = logging.getLogger(__name__)


def as_spanwise_error(request: HTTPConnection, error: Exception) -> SpanwiseError:
    """Returns the error to answer with; writes to the log what the caller must not read."""
    if isinstance(error, SpanwiseError) and error.status != SpanwiseError.status:
        return error
    _log.error("request %s failed", request.state.request_id, exc_info=error)
    return SpanwiseError(INTERNAL_DETAIL)


def headers_of(error: SpanwiseError) -> dict[str, str]:
    """Returns the headers that belong to an error, whatever the encoding of its body."""
    match error.status:
        case UnavailableError.status:
            return {"Retry-After": str(RETRY_AFTER_SECONDS)}
        case UnauthenticatedError.status:
            return {"WWW-Authenticate": "Bearer"}
        case _:
            return {}


def json_refusal(_request: HTTPConnection, error: SpanwiseError) -> Response:
    """Returns the answer to a request that was refused."""
    body = ErrorBody(detail=str(error), error_code=error.error_code)
    return Response(
        _encoder.encode(body),
        status_code=error.status,
        headers=headers_of(error),
        media_type="application/json",
    )


def no_route(request: Request, error: Exception) -> tuple[SpanwiseError, Mapping[str, str]]:
    """Returns the error, and its headers, of a request that the route table has no row for."""
    refused: HTTPException = error  # type: ignore[assignment]  # registered for this class
    match refused.status_code:
        case 404:
            return NotFoundError("Not Found"), {}
        case 405:
            return MethodNotAllowedError("Method Not Allowed"), refused.headers or {}
        case _:
            return as_spanwise_error(request, refused), {}
