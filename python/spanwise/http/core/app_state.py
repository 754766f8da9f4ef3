"""The parts of one service that handlers use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spanwise.http.core.metrics import RequestMetrics
from spanwise.http.core.unknown_parameters import UnknownParameters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanwise.auth.processor_budget import ProcessorBudget
    from spanwise.http.core.authorization import Authorizer
    from spanwise.http.core.database_ids import DatabaseIds
    from spanwise.http.requests.body import BodyReader
    from spanwise.http.responses.budget import ResponseBudget
    from spanwise.http.responses.event_stream import StreamLimit
    from spanwise.http.websocket.limits import SocketLimits
    from spanwise.registry import Registry
    from spanwise.runs import Runs
    from spanwise.runs.approvals import Approvals
    from spanwise.runs.launch import Launcher
    from spanwise.traces.service import Traces


@dataclass(frozen=True, kw_only=True)
class AppState:
    """The parts of one service.

    Attributes:
        id: the service's name, for programs.
        name: the service's name, for people.
        traces: the trace stores.
        registry: the hosted components and factories.
        databases: the ids that requests may pass as `db_id`.
        runs: the runs of components.
        approvals: the administrator decisions that paused runs of agno's components wait for.
        launcher: starts and continues runs for requests.
        needs_run_database: True if readiness requires an open run database.
        authorizer: authenticates and authorizes requests.
        openapi: returns the OpenAPI document with the input schemas of factories. The first call is slow.
        public_openapi: returns the OpenAPI document without input schemas. The first call is slow.
        cors_origins: the origins whose pages may read responses.
        allowed_hosts: the hosts that requests may name when authorization is off.
        response_budget: limits the memory of responses.
        public_response_budget: limits the memory of responses of public routes.
        body_readers: the readers of request bodies, by the names that routes use.
        unknown_callers: limits the processor time of callers without a verified token.
        streams: limits the open event streams.
        sockets: limits the open WebSockets.
        is_reader: True if this process only reads traces.
        writer_url: the address of the writer, set on readers; empty if unknown.
        settings: the values of settings by name, without secrets.
        unknown_parameters: rejects or logs query parameters that a route does not define.
        metrics: counts requests.
    """

    id: str
    name: str
    traces: Traces
    registry: Registry
    databases: DatabaseIds
    runs: Runs
    approvals: Approvals
    launcher: Launcher
    needs_run_database: bool
    authorizer: Authorizer
    openapi: Callable[[], bytes]
    public_openapi: Callable[[], bytes]
    cors_origins: frozenset[str]
    allowed_hosts: frozenset[str]
    response_budget: ResponseBudget
    public_response_budget: ResponseBudget
    body_readers: Mapping[str, BodyReader]
    unknown_callers: ProcessorBudget
    streams: StreamLimit
    sockets: SocketLimits
    is_reader: bool
    writer_url: str
    settings: Mapping[str, object]
    unknown_parameters: UnknownParameters = field(default_factory=UnknownParameters)
    metrics: RequestMetrics = field(default_factory=RequestMetrics)

    async def not_ready(self) -> str | None:
        """Returns which part of the service is not ready, and why; None if every part is ready.

        The service is ready when every trace store acknowledges, and the run database does if it is required.
        """
        if self.runs.is_draining:
            return "the service is shutting down"
        if self.needs_run_database and (reason := await self.runs.not_ready()) is not None:
            return f"runs: {reason}"
        return await self.traces.not_ready()
