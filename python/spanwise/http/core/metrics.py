"""The service's request counters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.metrics import Counter, Histogram

if TYPE_CHECKING:
    from spanwise.errors import SpanwiseError

NO_ROUTE = ("other", "none")
"""The method and path of requests without a route, so that clients cannot create labels."""


class RequestMetrics:
    """Counters of requests, their durations and their errors."""

    def __init__(self) -> None:
        """Starts at zero."""
        self.requests = Counter(
            "spanwise_http_requests_total", "HTTP requests with a response.", "method", "route", "status"
        )
        self.seconds = Histogram(
            "spanwise_http_request_duration_seconds",
            "From the request headers to the response, in seconds.",
            "method",
            "route",
        )
        self.errors = Counter("spanwise_errors_total", "Requests that were rejected or failed.", "error_code")

    def add(self, route: tuple[str, str], status: int, seconds: float) -> None:
        """Counts one request.

        Args:
            route: the method and path of its route.
            status: the status of its response.
            seconds: how long the response took.
        """
        self.requests.add(*route, str(status))
        self.seconds.add(*route, seconds=seconds)

    def add_error(self, error: SpanwiseError) -> None:
        """Counts one error response."""
        self.errors.add(error.error_code)
