"""Traces as a stream of OTLP export requests, as batch exporters of several services send them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spanwise.demo import agno, genai
from spanwise.demo.cast import Agent, Team, Workflow
from spanwise.demo.scene import Scene
from spanwise.demo.spans import TraceWriter, attribute_list, encode_span
from spanwise.demo.timetable import timetable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from spanwise.demo.spans import Scope, Span
    from spanwise.demo.timetable import Appointment

CONTENT_TYPE = "application/json"
"""The content type of every export's body; none is compressed."""

_MOST_SPANS = 200
_MOST_BYTES = 1 << 20


class Export(NamedTuple):
    """One export request: its body, the spans in it, and the traces whose last span is in it."""

    body: bytes
    spans: int
    traces: int


def exports(traces: int, seed: int, now: datetime) -> Iterator[Export]:
    """Yields `traces` traces of the 30 days before `now`, oldest first; the same bytes for the same arguments."""
    batch = _Batch()
    for appointment in timetable(traces, seed, now):
        writer = write_trace(appointment)
        for span in writer.spans:
            if batch.full:
                yield batch.export()
                batch = _Batch()
            batch.add(appointment.entry.domain.service, span, writer.trace_id)
        batch.traces += 1
    if batch.spans:
        yield batch.export()


def write_trace(appointment: Appointment) -> TraceWriter:
    """Returns the writer that holds the spans of one trace."""
    rng = Random(appointment.seed)  # noqa: S311  # the same traces for the same seed
    start, (kind, domain, subject), identity = appointment.start, appointment.entry, appointment.identity
    writer = TraceWriter(rng, int(start.timestamp()) * 1_000_000_000 + rng.randrange(1_000_000_000))
    scene = Scene(rng, domain, start, failing=appointment.failing)
    match kind, subject:
        case "agent", Agent():
            agno.write_agent(writer, scene.run(subject), identity, method=appointment.method)
        case "request", Agent():
            run = scene.run(subject)
            genai.write_request(writer, lambda parent: agno.write_agent(writer, run, identity, parent))
        case "team", Team():
            agno.write_team(writer, scene, subject, identity, method=appointment.method)
        case "workflow", Workflow():
            agno.write_workflow(writer, scene, subject, identity, method=appointment.method)
        case "pydantic", Agent():
            genai.write_pydantic_agent(writer, scene.run(subject), identity)
        case "planner", str():
            genai.write_planner(writer, scene, subject, identity)
        case "function", str():
            genai.write_function(writer, scene, subject, identity)
    return writer


class _Batch:
    """An export request being filled: spans by service, then by scope."""

    def __init__(self) -> None:
        self.spans = 0
        self.traces = 0
        self._bytes = 0
        self._services: dict[str, dict[Scope, list[msgspec.Raw]]] = {}

    @property
    def full(self) -> bool:
        return self.spans >= _MOST_SPANS or self._bytes >= _MOST_BYTES

    def add(self, service: str, span: Span, trace_id: str) -> None:
        encoded = encode_span(span, trace_id)
        self._services.setdefault(service, {}).setdefault(span.scope, []).append(msgspec.Raw(encoded))
        self.spans += 1
        self._bytes += len(encoded)

    def export(self) -> Export:
        request = {
            "resourceSpans": [
                {
                    "resource": {"attributes": _resource(service)},
                    "scopeSpans": [_scope_spans(scope, spans) for scope, spans in scopes.items()],
                }
                for service, scopes in self._services.items()
            ]
        }
        return Export(msgspec.json.encode(request), self.spans, self.traces)


def _resource(service: str) -> list[dict[str, object]]:
    return attribute_list({
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.version": "1.45.1",
        "service.name": service,
        "service.version": "1.4.2",
        "deployment.environment.name": "demo",
    })  # fmt: skip


def _scope_spans(scope: Scope, spans: list[msgspec.Raw]) -> dict[str, object]:
    body: dict[str, object] = {"scope": {"name": scope.name, "version": scope.version}, "spans": spans}
    if scope.schema_url:
        body["schemaUrl"] = scope.schema_url
    return body
