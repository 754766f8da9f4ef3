from __future__ import annotations

import inspect

import pytest

from spanwise import errors
from spanwise.errors import FilterError, SpanwiseError

CODES = {
    400: "BAD_REQUEST",
    401: "UNAUTHENTICATED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    408: "REQUEST_TIMEOUT",
    409: "CONFLICT",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    422: "VALIDATION_ERROR",
    429: "TOO_MANY_REQUESTS",
    500: "INTERNAL_SERVER_ERROR",
    503: "SERVICE_UNAVAILABLE",
}
"""The published table of statuses and codes."""

DAMAGED: dict[type[SpanwiseError], str] = {errors.RecordDamagedError: "DAMAGED"}
"""Errors of status 500 whose cause is reported to callers."""

ERRORS = [found for _, found in inspect.getmembers(errors, inspect.isclass) if issubclass(found, SpanwiseError)]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_is_in_the_published_table(error: type[SpanwiseError]) -> None:
    assert error.error_code == DAMAGED.get(error, CODES[error.status])
    assert error.__doc__


def test_a_filter_error_ends_with_its_path() -> None:
    error = FilterError("unknown operator `GTT`", "$.conditions[1].op")
    assert str(error) == "unknown operator `GTT` - at `$.conditions[1].op`"
    assert (error.message, error.path) == ("unknown operator `GTT`", "$.conditions[1].op")
