"""The parts of one service, which handlers work with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spanwise.http.metrics import RequestMetrics
from spanwise.http.requests.unknown_parameters import UnknownParameters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanwise.auth.processor_budget import ProcessorBudget
    from spanwise.http.authorization import Authorizer
    from spanwise.http.database_ids import DatabaseIds
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
class Backend:
    """The parts of one service.

    Attributes:
        id: the service's name, for programs.
        name: the service's name, for people.
        traces: the trace stores.
        registry: the hosted components and factories.
        databases: the ids that requests may give as `db_id`.
        runs: the runs of components.
        approvals: what runs of agno's components wait for administrators to decide.
        launcher: starts and continues runs for requests.
        needs_run_database: whether the service is ready only once the database of runs is open.
        authorizer: authenticates and authorizes requests.
        openapi: returns the OpenAPI document, with the input schemas of factories. The first call takes long.
        public_openapi: returns the OpenAPI document without them. The first call takes long.
        cors_origins: the origins whose pages may read responses.
        allowed_hosts: the hosts that requests may name where authorization is off.
        response_budget: bounds the memory of responses.
        public_response_budget: bounds the memory of responses of public routes.
        body_readers: the readers of request bodies, by the names that routes have for them.
        unknown_callers: bounds the processor time for callers without a verified token.
        streams: limits the open event streams.
        sockets: limits the open WebSockets.
        is_reader: whether this process only reads traces.
        writer_url: of a reader, the address of the writer; empty if it is not known.
        settings: the values of settings by name, without secrets.
        unknown_parameters: rejects or logs query parameters that a route does not have.
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
        """Returns what cannot be served now and why; None if all is served.

        Every trace store acknowledges then, and so does the database of runs if it is needed.
        """
        if self.runs.is_draining:
            return "the service is shutting down"
        if self.needs_run_database and (reason := await self.runs.not_ready()) is not None:
            return f"runs: {reason}"
        return await self.traces.not_ready()
