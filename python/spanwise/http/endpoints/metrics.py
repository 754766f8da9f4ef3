"""Exposes the service's counters to Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response

from spanwise.metrics import CONTENT_TYPE, Gauge, exposition

if TYPE_CHECKING:
    from starlette.requests import Request

    from spanwise.http.core.app_state import AppState
    from spanwise.metrics import Family


async def show_metrics(_request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /metrics`."""
    families: list[Family] = [
        app_state.metrics.requests,
        app_state.metrics.seconds,
        app_state.metrics.errors,
        app_state.unknown_callers.seconds,
        app_state.unknown_callers.rejections,
        *_gauges(app_state),
        *await app_state.traces.measure(),
    ]
    return Response(exposition(families), headers={"Content-Type": CONTENT_TYPE})


def _gauges(app_state: AppState) -> list[Family]:
    bodies = {name: reader.in_memory for name, reader in app_state.body_readers.items()}
    unread = app_state.response_budget.in_memory
    gauges: list[Family] = [
        Gauge("spanwise_request_buffer_bytes", "Request bodies in memory.", "kind", bodies),
        Gauge.single("spanwise_response_buffer_bytes", "Response bytes that clients have not read.", unread),
        Gauge.single("spanwise_event_buffer_bytes", "Inputs and events of runs in memory.", app_state.runs.event_bytes),
        Gauge.single("spanwise_active_runs", "Runs in progress.", app_state.runs.under_way),
        Gauge.single("spanwise_open_event_streams", "Open event streams.", app_state.streams.open),
        Gauge.single("spanwise_open_websockets", "Open WebSockets.", app_state.sockets.open),
    ]
    age = app_state.authorizer.jwks_age_seconds
    if age is not None:
        gauges.append(Gauge.single("spanwise_jwks_age_seconds", "Since the last fetch of the JWKS.", age))
    return gauges
