"""All exceptions of Spanwise, with their HTTP status and error code.

The engine imports these classes and raises them. The HTTP layer reads `status` and `error_code`. The body of every
error response is `{"detail": str, "error_code": str}`.
"""

from __future__ import annotations


class SpanwiseError(Exception):
    """The base class of all errors. Only its subclasses are raised."""

    status: int = 500
    error_code: str = "INTERNAL_SERVER_ERROR"


class FilterError(SpanwiseError, ValueError):
    """A filter expression is invalid.

    Attributes:
        message: the actual and the expected value.
        path: the location in the filter, such as ``$.conditions[1].value``.
    """

    status = 400
    error_code = "BAD_REQUEST"

    def __init__(self, message: str, path: str) -> None:
        """Creates an error with a message and a location."""
        super().__init__(message, path)
        self.message = message
        self.path = path

    def __str__(self) -> str:
        """Returns the message, followed by the location."""
        return f"{self.message} - at `{self.path}`"


class DecodeError(SpanwiseError, ValueError):
    """A request body cannot be decoded as its content type."""

    status = 400
    error_code = "BAD_REQUEST"


class BatchError(SpanwiseError, ValueError):
    """A record batch lacks a column that a filter uses, or the column has the wrong type."""

    status = 400
    error_code = "BAD_REQUEST"


class BadRequestError(SpanwiseError, ValueError):
    """A request asks for something unsupported. The message names it."""

    status = 400
    error_code = "BAD_REQUEST"


class AnswerError(BadRequestError):
    """An answer does not fit its requirement. A component that raises it pauses again."""


class ValidationError(SpanwiseError, ValueError):
    """A request does not match its schema. The message ends with the location."""

    status = 422
    error_code = "VALIDATION_ERROR"


class UnauthenticatedError(SpanwiseError):
    """The token is missing, forged, expired, or lacks a claim."""

    status = 401
    error_code = "UNAUTHENTICATED"


class ForbiddenError(SpanwiseError):
    """The caller is authenticated, but does not have permission."""

    status = 403
    error_code = "FORBIDDEN"


class NotFoundError(SpanwiseError):
    """The resource does not exist, or is not visible to the caller."""

    status = 404
    error_code = "NOT_FOUND"


class MethodNotAllowedError(SpanwiseError):
    """The path does not support this method."""

    status = 405
    error_code = "METHOD_NOT_ALLOWED"


class RequestTimeoutError(SpanwiseError):
    """A request body did not arrive in time."""

    status = 408
    error_code = "REQUEST_TIMEOUT"


class ConflictError(SpanwiseError):
    """The state of the resource does not allow the operation."""

    status = 409
    error_code = "CONFLICT"


class PayloadTooLargeError(SpanwiseError):
    """A request body or a response exceeds its limit."""

    status = 413
    error_code = "PAYLOAD_TOO_LARGE"


class UnsupportedMediaTypeError(SpanwiseError):
    """The content type or content encoding is not supported."""

    status = 415
    error_code = "UNSUPPORTED_MEDIA_TYPE"


class ConfigurationError(SpanwiseError, ValueError):
    """A setting, an option or an address is invalid."""


class StoreError(SpanwiseError):
    """The underlying storage of a trace store failed."""


class StoreDamagedError(StoreError):
    """An object of a trace store is damaged. The message names the file and the offset."""


class RecordDamagedError(StoreError):
    """A record of the database of runs, or the spans of a trace, are damaged. The message names them.

    All other records can be read.
    """

    error_code = "DAMAGED"


class StoreLockedError(StoreError):
    """Another process has the trace store open."""


class UnavailableError(SpanwiseError):
    """The request was rejected and nothing was stored. A retry may succeed."""

    status = 503
    error_code = "SERVICE_UNAVAILABLE"


class DatabaseAwayError(UnavailableError):
    """The server of the database of runs does not respond, or the connection to it broke."""


class StoreStoppedError(UnavailableError):
    """The store accepts no spans until it is reopened. If another process holds it, it cannot be searched either."""


class PartialWriteError(UnavailableError):
    """A write changed some shards of a store but not others. Repeating the request completes it."""


class StaleLayoutError(UnavailableError):
    """A request to a shard used a layout that the shard does not belong to."""


class PinLostError(UnavailableError):
    """A shard no longer holds the state of a search. The search starts again."""


class StoreClosedError(UnavailableError):
    """The store is closed."""


class CancelledError(SpanwiseError):
    """The caller cancelled the request."""

    status = 503
    error_code = "SERVICE_UNAVAILABLE"


class ComponentError(SpanwiseError):
    """A component failed. Clients receive a fixed message; this one goes to the log and the trace."""


class RunFailedError(ComponentError):
    """A run failed. Its cause was already logged when the run ended."""


class FactoryError(SpanwiseError):
    """A factory failed, or did not return a new component of its type."""


class FactoryValidationError(FactoryError):
    """The input of a factory does not match its schema. Raised before the factory is called."""

    status = 400
    error_code = "BAD_REQUEST"


class FactoryPermissionError(FactoryError):
    """A factory denied the caller access to the component."""

    status = 403
    error_code = "FORBIDDEN"


class FactoryContextRequired(FactoryError):  # noqa: N818  # the name that existing programs use
    """A factory was looked up by id, without a request to build its component for."""

    status = 400
    error_code = "BAD_REQUEST"


class ServiceError(SpanwiseError):
    """A service responded with an error that has no class here, or the response is not from Spanwise.

    Attributes:
        status: the status of the response.
        error_code: the error code in its body; without one, the code of an internal error.
    """

    def __init__(self, message: str, status: int = 500, error_code: str = "INTERNAL_SERVER_ERROR") -> None:
        """Creates an error from the message, status and code of a response."""
        super().__init__(message, status, error_code)
        self.message = message
        self.status = status
        self.error_code = error_code

    def __str__(self) -> str:
        """Returns the message."""
        return self.message


class UnreachableError(SpanwiseError):
    """No service responded: nothing listens at the address, the response took too long, or the connection broke."""

    status = 503
    error_code = "SERVICE_UNAVAILABLE"
