"""What is counted of requests, and `/metrics`, where everything that is counted can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from spanwise.metrics import CONTENT_TYPE, Counter, Gauge, Histogram, exposition

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.errors import SpanwiseError
    from spanwise.http.backend import Backend
    from spanwise.metrics import Family

NO_ROUTE = ("other", "none")
"""The method and route of requests that the table has no row for: what callers invent is no label."""


class Traffic:
    """What is counted of requests."""

    def __init__(self) -> None:
        """Begins at nothing."""
        self.requests = Counter(
            "spanwise_http_requests_total", "HTTP requests with a response.", "method", "route", "status"
        )
        self.seconds = Histogram(
            "spanwise_http_request_duration_seconds", "From the headers to the response.", "method", "route"
        )
        self.errors = Counter("spanwise_errors_total", "Requests that were rejected or failed.", "error_code")

    def add(self, route: tuple[str, str], status: int, seconds: float) -> None:
        """Counts one request.

        Args:
            route: its method and path, as the route table has them.
            status: the status of its answer.
            seconds: how long the answer took.
        """
        self.requests.add(*route, str(status))
        self.seconds.add(*route, seconds=seconds)

    def add_error(self, error: SpanwiseError) -> None:
        """Counts one error answer."""
        self.errors.add(error.error_code)


async def metrics(_request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /metrics`, for Prometheus."""
    traffic = backend.traffic
    bodies = {name: reader.in_memory for name, reader in backend.readers.items()}
    age = backend.admission.jwks_age_seconds
    ages = [] if age is None else [Gauge.single("spanwise_jwks_age_seconds", "Since the last fetch of the JWKS.", age)]
    families: list[Family] = [
        traffic.requests,
        traffic.seconds,
        traffic.errors,
        Gauge("spanwise_request_buffer_bytes", "Request bodies in memory.", "kind", bodies),
        Gauge.single(
            "spanwise_response_buffer_bytes", "Response bytes that clients have not read.", backend.answers.in_memory
        ),
        Gauge.single("spanwise_event_buffer_bytes", "Run events in memory.", backend.runs.event_bytes),
        Gauge.single("spanwise_active_runs", "Runs in progress.", backend.runs.under_way),
        Gauge.single("spanwise_open_event_streams", "Open event streams.", backend.streams.open),
        Gauge.single("spanwise_open_websockets", "Open WebSockets.", backend.sockets.open),
        *ages,
        *await backend.traces.measure(),
    ]
    return Response(exposition(families), headers={"Content-Type": CONTENT_TYPE})
