"""Exposes what the service counts, for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from spanwise.metrics import CONTENT_TYPE, Gauge, exposition

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.http.backend import Backend
    from spanwise.metrics import Family


async def show_metrics(_request: Request, _body: bytes, backend: Backend) -> Response:
    """`GET /metrics`."""
    families: list[Family] = [
        backend.metrics.requests,
        backend.metrics.seconds,
        backend.metrics.errors,
        *_gauges(backend),
        *await backend.traces.measure(),
    ]
    return Response(exposition(families), headers={"Content-Type": CONTENT_TYPE})


def _gauges(backend: Backend) -> list[Family]:
    age = backend.authorizer.jwks_age_seconds
    return [
        Gauge(
            "spanwise_body_bytes",
            "Bytes of request bodies in memory.",
            "kind",
            {name: reader.in_memory for name, reader in backend.body_readers.items()},
        ),
        Gauge(
            "spanwise_answer_bytes",
            "Bytes of responses that wait for slow clients.",
            "state",
            {"waiting": backend.response_budget.in_memory},
        ),
        Gauge("spanwise_event_bytes", "Bytes of run events in memory.", "kind", {"run": backend.runs.event_bytes}),
        Gauge(
            "spanwise_jwks_age_seconds",
            "Seconds since the last successful fetch of keys.",
            "source",
            {} if age is None else {"url": age},
        ),
        Gauge(
            "spanwise_open",
            "Runs under way, open event streams and open WebSockets.",
            "kind",
            {"run": backend.runs.under_way, "stream": backend.streams.open, "socket": backend.sockets.open},
        ),
    ]
