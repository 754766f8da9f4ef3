"""What handlers answer from: the parts of one service, put together once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from spanwise.http.metrics import Traffic
from spanwise.http.requests.body import BodyReader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.authorization import Admission
    from spanwise.http.middleware.chunked_send import Answers
    from spanwise.http.responses.event_stream import Streams
    from spanwise.http.websocket.routes import Sockets
    from spanwise.registry import Registry
    from spanwise.runs import Runs
    from spanwise.settings import Settings
    from spanwise.traces.service import Traces

    Handler: TypeAlias = Callable[[Request, bytes, "Backend"], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True)
class Backend:
    """The parts of one service.

    Attributes:
        id: the service's name, for programs.
        name: the service's name, for people.
        traces: its traces.
        registry: the components and factories it hosts.
        runs: what runs them.
        keeps_runs: whether the database of runs is opened with the service.
        factory_deadline_seconds: how long a factory may take.
        admission: what decides about its requests.
        description: the OpenAPI document of its routes, with what factories take.
        public_description: the same for everybody, without.
        origins: whose pages may read answers.
        answers: what sends answers.
        readers: what reads request bodies, by the name that rows of the route table have for it.
        streams: the streams of events that are open.
        sockets: the WebSockets that are open.
        traffic: what is counted of its requests.
    """

    id: str
    name: str
    traces: Traces
    registry: Registry
    runs: Runs
    keeps_runs: bool
    factory_deadline_seconds: float
    admission: Admission
    description: bytes
    public_description: bytes
    origins: frozenset[str]
    answers: Answers
    readers: Mapping[str, BodyReader]
    streams: Streams
    sockets: Sockets
    traffic: Traffic = field(default_factory=Traffic)

    @property
    def is_ready(self) -> bool:
        """Returns whether all that is opened with the service is open, and every trace store acknowledges."""
        return self.traces.is_ready and (self.runs.is_ready or not self.keeps_runs)


def body_readers(settings: Settings) -> dict[str, BodyReader]:
    """Returns what reads the bodies of each kind of request."""
    deadline = settings.body_deadline_seconds
    return {
        "search": BodyReader(settings.max_search_body_bytes, settings.search_buffer_bytes, deadline),
        "ingest": BodyReader(settings.max_ingest_body_bytes, settings.ingest_buffer_bytes, deadline),
        "form": BodyReader(settings.max_form_body_bytes, settings.form_buffer_bytes, deadline),
    }
