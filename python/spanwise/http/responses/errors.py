"""Error responses. The class of an error determines its status and code.

The body is `{"detail": str, "error_code": str}`. OTLP clients receive a `google.rpc.Status` in their own encoding
instead. A 500 has a fixed text; its cause is in the log under the request id that the client received. See
`docs/reference/api.md#errors`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from msgspec import UNSET
from starlette.responses import Response

from spanwise.api.shared import ErrorBody
from spanwise.errors import (
    MethodNotAllowedError,
    NotFoundError,
    RunFailedError,
    SpanwiseError,
    UnauthenticatedError,
    UnavailableError,
)
from spanwise.http.requests.json import media_type
from spanwise.http.requests.media_types import JSON, PROTOBUF
from spanwise.http.responses.json import json_response
from spanwise.traces import otlp_status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.exceptions import HTTPException
    from starlette.requests import HTTPConnection, Request

INTERNAL_DETAIL = "the service failed; its log has the cause under this request id"
RETRY_AFTER_SECONDS = 1

_log = logging.getLogger(__name__)


def as_spanwise_error(request: HTTPConnection, error: Exception) -> SpanwiseError:
    """Returns the error to report to the client.

    An internal error is logged, and its cause is hidden from the client.
    """
    if isinstance(error, SpanwiseError) and error.error_code != SpanwiseError.error_code:
        return error
    if not isinstance(error, RunFailedError):
        _log.error("request %s failed", request.state.request_id, exc_info=error)
    return SpanwiseError(INTERNAL_DETAIL)


def json_error_response(request: HTTPConnection, error: SpanwiseError) -> Response:
    """Returns the JSON response for `error`."""
    request_id = request.state.request_id if error.error_code == SpanwiseError.error_code else UNSET
    body = ErrorBody(detail=str(error), error_code=error.error_code, request_id=request_id)
    return json_response(body, error.status, _headers_of(error))


def otlp_error_response(request: Request, error: SpanwiseError) -> Response:
    """Returns `error` as a `google.rpc.Status` in the encoding of the request, or as JSON for other encodings."""
    content_type = media_type(request)
    if content_type not in (JSON, PROTOBUF):
        return json_error_response(request, error)
    return Response(
        otlp_status(str(error), content_type, error.status),
        status_code=error.status,
        headers=_headers_of(error),
        media_type=content_type,
    )


def routing_error(request: Request, error: Exception) -> tuple[SpanwiseError, Mapping[str, str]]:
    """Returns the error of a request that matches no route, and the headers of its response."""
    raised: HTTPException = error  # type: ignore[assignment]  # registered for this class
    match raised.status_code:
        case 404:
            return NotFoundError("Not Found"), {}
        case 405:
            return MethodNotAllowedError("Method Not Allowed"), raised.headers or {}
        case _:
            return as_spanwise_error(request, raised), {}


def _headers_of(error: SpanwiseError) -> dict[str, str]:
    """Returns the headers that belong to an error. They do not depend on the encoding of the body."""
    match error.status:
        case UnavailableError.status:
            return {"Retry-After": str(RETRY_AFTER_SECONDS)}
        case MethodNotAllowedError.status:
            # every method of this route is switched off
            return {"Allow": ""}
        case UnauthenticatedError.status:
            return {"WWW-Authenticate": "Bearer"}
        case _:
            return {}
