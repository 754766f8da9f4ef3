"""The service table: the handler of each method and the scopes that its caller needs. Add a line per service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from spanwise.auth.scopes import Need
from spanwise.http.core.operation import Operation
from spanwise.http.core.route import Route
from spanwise.http.grpc.health import SERVICE as HEALTH
from spanwise.http.grpc.health import check_health
from spanwise.http.grpc.message import encoding_of
from spanwise.http.grpc.responses import GrpcResponse, grpc_error_response
from spanwise.http.requests.media_types import PROTOBUF
from spanwise.traces.service import Traces

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.core.app_state import AppState
    from spanwise.http.core.route import Handler


class Report(Protocol):
    """The report about a handled request."""

    @property
    def response(self) -> bytes:
        """The OTLP response, in the encoding of the request."""


Ingest: TypeAlias = "Callable[[Traces, bytes, str, str | None, str | None], Awaitable[Report]]"
"""Ingests a message, given its media type, its compression and the id of the store."""

DB_ID = "db_id"
"""The metadata key that selects one of several stores."""


def _drop_metrics(
    traces: Traces, body: bytes, media_type: str, encoding: str | None, _store_id: str | None
) -> Awaitable[Report]:
    return traces.drop_metrics(body, media_type, encoding)


_EXPORTS: dict[str, Ingest] = {
    "opentelemetry.proto.collector.trace.v1.TraceService": Traces.ingest,
    "opentelemetry.proto.collector.logs.v1.LogsService": Traces.ingest_logs,
    "opentelemetry.proto.collector.metrics.v1.MetricsService": _drop_metrics,
}
"""The handler of the `Export` requests of each OTLP service."""


def _export(ingest: Ingest) -> Handler:
    async def export(request: Request, body: bytes, app_state: AppState) -> Response:
        store_id = app_state.databases.trace_store(request.headers.get(DB_ID) or None)
        report = await ingest(app_state.traces, body, PROTOBUF, encoding_of(request), store_id)
        return GrpcResponse(report.response)

    return export


def _routes() -> tuple[Route, ...]:
    exports = (
        Route(
            "POST",
            f"/{service}/Export",
            _export(ingest),
            Operation("export", "Ingests the OTLP request in one message", is_otlp=True),
            Need.of("traces:write"),
            body="ingest",
            write_error=grpc_error_response,
        )
        for service, ingest in _EXPORTS.items()
    )
    health = Route(
        "POST",
        f"/{HEALTH}/Check",
        check_health({HEALTH, *_EXPORTS}),
        Operation("check_health", "Returns whether the service is ready"),
        is_public=True,
        write_error=grpc_error_response,
    )
    return (*exports, health)


ROUTES: tuple[Route, ...] = _routes()
"""The routes of all methods. A gRPC call is a POST to the path of its method."""
