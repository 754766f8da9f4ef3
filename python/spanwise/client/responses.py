"""Decodes the responses of a service into values, and its errors into exceptions."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import msgspec

from spanwise import errors
from spanwise.api.shared import ErrorBody
from spanwise.errors import FilterError, ServiceError, SpanwiseError, UnreachableError

if TYPE_CHECKING:
    import httpx

Shape = TypeVar("Shape")

_LOCATED = re.compile(r"(?s)(.*) - at `(\$.*)`")
_MESSAGE_CHARS = 300


def decoded(response: httpx.Response, shape: type[Shape]) -> Shape:
    """Returns the body of a response, decoded into `shape`.

    Raises:
        SpanwiseError: the response is an error. Its class is the class that the service raised, if the code has one.
        ServiceError: the body has another shape, because another program or version responded.
    """
    if not response.is_success:
        raise _error_of(response)
    try:
        return msgspec.json.decode(response.content, type=shape)
    except msgspec.DecodeError as error:
        message = f"{response.url} did not respond as a service of this version does: {error}"
        raise ServiceError(message, response.status_code) from error


def unreachable(url: str, cause: Exception) -> UnreachableError:
    """Returns the error for a request to `url` without a response."""
    reason = str(cause) or type(cause).__name__
    return UnreachableError(f"no response from {url}: {reason}")


def _error_of(response: httpx.Response) -> SpanwiseError:
    error = _raised_as(response)
    if request_id := response.headers.get("X-Request-ID"):
        error.add_note(f"X-Request-ID: {request_id}")
    return error


def _raised_as(response: httpx.Response) -> SpanwiseError:
    status = response.status_code
    try:
        body = msgspec.json.decode(response.content, type=ErrorBody)
    except msgspec.DecodeError:
        text = response.text[:_MESSAGE_CHARS].strip()
        return ServiceError(f"{response.url} responded with {status} {response.reason_phrase}: {text}", status)
    located = _LOCATED.fullmatch(body.detail)
    if located and (status, body.error_code) == (FilterError.status, FilterError.error_code):
        return FilterError(*located.groups())
    found = _classes().get((status, body.error_code))
    return found(body.detail) if found else ServiceError(body.detail, status, body.error_code)


@cache
def _classes() -> dict[tuple[int, str], type[SpanwiseError]]:
    """Returns the most general error class for each status and code, because a response does not name a subclass."""
    found = [
        errors.BadRequestError,
        errors.UnauthenticatedError,
        errors.ForbiddenError,
        errors.NotFoundError,
        errors.MethodNotAllowedError,
        errors.RequestTimeoutError,
        errors.ConflictError,
        errors.PayloadTooLargeError,
        errors.UnsupportedMediaTypeError,
        errors.ValidationError,
        errors.RecordDamagedError,
        errors.UnavailableError,
    ]
    return {(error.status, error.error_code): error for error in found}
