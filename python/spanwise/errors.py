"""What can go wrong, as one closed list: the HTTP status and the error code stand on each class.

The engine imports these classes and raises them; the HTTP layer reads `status` and `error_code`.
`{"detail": str, "error_code": str}` is the body of every error answer.
"""

from __future__ import annotations

from typing import ClassVar


class SpanwiseError(Exception):
    """Anything Spanwise refuses or fails at. Raised only as one of its subclasses."""

    status: ClassVar[int] = 500
    error_code: ClassVar[str] = "INTERNAL_SERVER_ERROR"


class FilterError(SpanwiseError, ValueError):
    """A filter expression is invalid.

    Attributes:
        message: what was found and what was expected.
        path: where, from the filter's root, such as ``$.conditions[1].value``.
    """

    status = 400
    error_code = "BAD_REQUEST"

    def __init__(self, message: str, path: str) -> None:
        """Keeps what was found and where."""
        super().__init__(message, path)
        self.message = message
        self.path = path

    def __str__(self) -> str:
        """Returns the message, ending with the place."""
        return f"{self.message} - at `{self.path}`"


class DecodeError(SpanwiseError, ValueError):
    """A request body cannot be decoded as what it claims to be."""

    status = 400
    error_code = "BAD_REQUEST"


class BatchError(SpanwiseError, ValueError):
    """A record batch does not have the columns, or the column types, a filter asks for."""

    status = 400
    error_code = "BAD_REQUEST"


class BadRequestError(SpanwiseError, ValueError):
    """A request asks for what the service does not do; the message names the part."""

    status = 400
    error_code = "BAD_REQUEST"


class ValidationError(SpanwiseError, ValueError):
    """A request does not have the shape it must have; the message ends with the place."""

    status = 422
    error_code = "VALIDATION_ERROR"


class UnauthenticatedError(SpanwiseError):
    """Nobody knows who is calling: the token is missing, forged, expired or says too little."""

    status = 401
    error_code = "UNAUTHENTICATED"


class ForbiddenError(SpanwiseError):
    """The caller is known, and may not do this."""

    status = 403
    error_code = "FORBIDDEN"


class NotFoundError(SpanwiseError):
    """What was asked for does not exist, or not for this caller."""

    status = 404
    error_code = "NOT_FOUND"


class MethodNotAllowedError(SpanwiseError):
    """The path exists, but not with this method."""

    status = 405
    error_code = "METHOD_NOT_ALLOWED"


class RequestTimeoutError(SpanwiseError):
    """A request body did not arrive in time."""

    status = 408
    error_code = "REQUEST_TIMEOUT"


class ConflictError(SpanwiseError):
    """What was asked for is in a state that does not allow it."""

    status = 409
    error_code = "CONFLICT"


class PayloadTooLargeError(SpanwiseError):
    """A request body, or the answer to a request, is over its limit."""

    status = 413
    error_code = "PAYLOAD_TOO_LARGE"


class UnsupportedMediaTypeError(SpanwiseError):
    """A content type or content encoding that is not served."""

    status = 415
    error_code = "UNSUPPORTED_MEDIA_TYPE"


class ConfigurationError(SpanwiseError, ValueError):
    """A setting, an option or an address that Spanwise cannot start with."""


class StoreError(SpanwiseError):
    """The storage below a trace store failed."""


class StoreDamagedError(StoreError):
    """An object of a trace store is not what it must be; the message names file and offset."""


class StoreLockedError(StoreError):
    """Another process holds the trace store."""


class UnavailableError(SpanwiseError):
    """Not accepted now and nothing was stored; the same request may succeed later."""

    status = 503
    error_code = "SERVICE_UNAVAILABLE"


class StoreStoppedError(UnavailableError):
    """The store acknowledges nothing more until it is opened again; searches go on."""


class StoreClosedError(UnavailableError):
    """The store was closed."""


class CancelledError(SpanwiseError):
    """The caller withdrew the request before its answer was ready."""

    status = 503
    error_code = "SERVICE_UNAVAILABLE"


class ComponentError(SpanwiseError):
    """A component did what it must not; callers read a fixed text, the log and the trace have this one."""


class FactoryError(SpanwiseError):
    """A factory failed, or returned no fresh component of its kind."""


class FactoryValidationError(FactoryError):
    """The input of a factory does not fit its schema; raised before the factory is called."""

    status = 400
    error_code = "BAD_REQUEST"


class FactoryPermissionError(FactoryError):
    """A factory decided that the caller may not have this component."""

    status = 403
    error_code = "FORBIDDEN"


class FactoryContextRequired(FactoryError):  # noqa: N818  # the specification's name
    """A component was looked up by its id without a request to build it for."""

    status = 400
    error_code = "BAD_REQUEST"
