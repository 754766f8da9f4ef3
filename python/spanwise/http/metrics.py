"""What is counted of requests, and `/metrics`, where everything that is counted can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from spanwise.metrics import CONTENT_TYPE, Counter, Durations, Gauge, exposition

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
        self.requests = Counter("spanwise_requests_total", "Requests that were answered.", "method", "route", "status")
        self.seconds = Durations("spanwise_request_seconds", "From the headers to the answer.", "method", "route")
        self.errors = Counter("spanwise_errors_total", "Requests that were refused or failed.", "error_code")

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
    waiting = {"waiting": backend.answers.in_memory}
    events = {"run": backend.runs.event_bytes}
    age = backend.admission.jwks_age_seconds
    ages = {} if age is None else {"url": age}
    are_open = {
        "run": backend.runs.under_way,
        "stream": backend.streams.open,
        "socket": backend.sockets.open,
    }
    families: list[Family] = [
        traffic.requests,
        traffic.seconds,
        traffic.errors,
        Gauge("spanwise_body_bytes", "Bytes of request bodies in memory.", "kind", bodies),
        Gauge("spanwise_answer_bytes", "Bytes of answers that wait for their readers.", "state", waiting),
        Gauge("spanwise_event_bytes", "Bytes of events of runs in memory.", "kind", events),
        Gauge(
            "spanwise_jwks_age_seconds",
            "Since the last good fetch of keys.",
            "source",
            ages,
        ),
        Gauge("spanwise_open", "Runs that are under way, streams and sockets that are open.", "kind", are_open),
        *await backend.traces.measure(),
    ]
    return Response(exposition(families), headers={"Content-Type": CONTENT_TYPE})
