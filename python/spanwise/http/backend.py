"""What handlers answer from: the parts of one service, put together once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spanwise.http.bodies import BodyReader
from spanwise.http.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.http.authorization import Admission
    from spanwise.settings import Settings
    from spanwise.traces.service import Traces


@dataclass(frozen=True, kw_only=True)
class Backend:
    """The parts of one service.

    Attributes:
        id: the service's name, for programs.
        name: the service's name, for people.
        traces: its traces.
        admission: what decides about its requests.
        readers: what reads request bodies, by the name that rows of the route table have for it.
        traffic: what is counted of its requests.
    """

    id: str
    name: str
    traces: Traces
    admission: Admission
    readers: Mapping[str, BodyReader]
    traffic: Traffic = field(default_factory=Traffic)


def body_readers(settings: Settings) -> dict[str, BodyReader]:
    """Returns what reads the bodies of each kind of request."""
    deadline = settings.body_deadline_seconds
    return {
        "search": BodyReader(settings.search_body_bytes, settings.search_waiting_bytes, deadline),
        "ingest": BodyReader(settings.ingest_body_bytes, settings.ingest_waiting_bytes, deadline),
    }
