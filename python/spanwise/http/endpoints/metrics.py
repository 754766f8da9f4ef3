"""Exposes the service's counters to Prometheus."""

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
        backend.unknown_callers.seconds,
        backend.unknown_callers.rejections,
        *_gauges(backend),
        *await backend.traces.measure(),
    ]
    return Response(exposition(families), headers={"Content-Type": CONTENT_TYPE})


def _gauges(backend: Backend) -> list[Family]:
    bodies = {name: reader.in_memory for name, reader in backend.body_readers.items()}
    unread = backend.response_budget.in_memory
    gauges: list[Family] = [
        Gauge("spanwise_request_buffer_bytes", "Request bodies in memory.", "kind", bodies),
        Gauge.single("spanwise_response_buffer_bytes", "Response bytes that clients have not read.", unread),
        Gauge.single("spanwise_event_buffer_bytes", "Inputs and events of runs in memory.", backend.runs.event_bytes),
        Gauge.single("spanwise_active_runs", "Runs in progress.", backend.runs.under_way),
        Gauge.single("spanwise_open_event_streams", "Open event streams.", backend.streams.open),
        Gauge.single("spanwise_open_websockets", "Open WebSockets.", backend.sockets.open),
    ]
    age = backend.authorizer.jwks_age_seconds
    if age is not None:
        gauges.append(Gauge.single("spanwise_jwks_age_seconds", "Since the last fetch of the JWKS.", age))
    return gauges
