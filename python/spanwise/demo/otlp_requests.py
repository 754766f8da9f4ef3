"""OTLP export requests of generated traces, as batch exporters of several services send them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spanwise.demo import agno, genai
from spanwise.demo.cast import DemoAgent, DemoTeam, DemoWorkflow
from spanwise.demo.scene import Scene
from spanwise.demo.schedule import schedule
from spanwise.demo.spans import TraceWriter, attribute_list, encode_span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from spanwise.demo.schedule import ScheduledTrace
    from spanwise.demo.spans import Scope, Span

CONTENT_TYPE = "application/json"
"""The content type of all request bodies. They are not compressed."""

_MAX_SPANS = 200
_MAX_BYTES = 1 << 20


class ExportRequest(NamedTuple):
    """One request: its body, the number of its spans, and the number of traces whose last span is in it."""

    body: bytes
    spans: int
    traces: int


def export_requests(traces: int, seed: int, now: datetime) -> Iterator[ExportRequest]:
    """Yields requests with `traces` traces of the 30 days before `now`, oldest first, deterministically."""
    batch = _Batch()
    for trace in schedule(traces, seed, now):
        writer = write_trace(trace)
        for span in writer.spans:
            if batch.full:
                yield batch.export()
                batch = _Batch()
            batch.add(trace.entry.domain.service, span, writer.trace_id)
        batch.traces += 1
    if batch.spans:
        yield batch.export()


def write_trace(trace: ScheduledTrace) -> TraceWriter:
    """Generates the spans of one trace."""
    rng = Random(trace.seed)  # noqa: S311  # reproducible, not for security
    start, (kind, domain, subject), identity = trace.start, trace.entry, trace.identity
    writer = TraceWriter(rng, int(start.timestamp()) * 1_000_000_000 + rng.randrange(1_000_000_000))
    scene = Scene(rng, domain, start, failing=trace.failing)
    match kind, subject:
        case "agent", DemoAgent():
            agno.write_agent(writer, scene.run(subject), identity, method=trace.method)
        case "request", DemoAgent():
            run = scene.run(subject)
            genai.write_request(writer, lambda parent: agno.write_agent(writer, run, identity, parent))
        case "team", DemoTeam():
            agno.write_team(writer, scene, subject, identity, method=trace.method)
        case "workflow", DemoWorkflow():
            agno.write_workflow(writer, scene, subject, identity, method=trace.method)
        case "pydantic", DemoAgent():
            genai.write_pydantic_agent(writer, scene.run(subject), identity)
        case "planner", str():
            genai.write_planner(writer, scene, subject, identity)
        case "function", str():
            genai.write_function(writer, scene, subject, identity)
    return writer


class _Batch:
    """A request under construction: spans grouped by service, then by scope."""

    def __init__(self) -> None:
        self.spans = 0
        self.traces = 0
        self._bytes = 0
        self._services: dict[str, dict[Scope, list[msgspec.Raw]]] = {}

    @property
    def full(self) -> bool:
        return self.spans >= _MAX_SPANS or self._bytes >= _MAX_BYTES

    def add(self, service: str, span: Span, trace_id: str) -> None:
        encoded = encode_span(span, trace_id)
        self._services.setdefault(service, {}).setdefault(span.scope, []).append(msgspec.Raw(encoded))
        self.spans += 1
        self._bytes += len(encoded)

    def export(self) -> ExportRequest:
        request = {
            "resourceSpans": [
                {
                    "resource": {"attributes": _resource(service)},
                    "scopeSpans": [_scope_spans(scope, spans) for scope, spans in scopes.items()],
                }
                for service, scopes in self._services.items()
            ]
        }
        return ExportRequest(msgspec.json.encode(request), self.spans, self.traces)


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
