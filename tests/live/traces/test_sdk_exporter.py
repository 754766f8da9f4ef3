"""The OpenTelemetry SDK's own exporter, end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode, format_trace_id

if TYPE_CHECKING:
    from support.services.process import RunningService


@pytest.mark.parametrize("compression", list(Compression))
def test_a_traced_run_is_found_with_what_it_said(service: RunningService, compression: Compression) -> None:
    exporter = OTLPSpanExporter(f"{service.url}/v1/traces", compression=compression)
    provider = TracerProvider(resource=Resource.create({"service.name": "tests"}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("tests")
    session_id = f"session-{compression.value}"
    with tracer.start_as_current_span("agent run") as run:
        run.set_attributes(
            {
                "openinference.span.kind": "AGENT",
                "input.value": "what is the weather?",
                "output.value": "clear",
                "session.id": session_id,
                "user.id": "ada",
            }
        )
        with tracer.start_as_current_span("weather") as tool:
            tool.set_attributes({"openinference.span.kind": "TOOL", "tool.name": "weather"})
            tool.set_status(Status(StatusCode.ERROR, "no network"))
    assert provider.force_flush()
    provider.shutdown()

    response = service.search(filter={"op": "EQ", "key": "session_id", "value": session_id}).json()
    (trace,) = response["data"]
    assert trace["trace_id"] == format_trace_id(run.get_span_context().trace_id)
    assert (trace["name"], trace["user_id"], trace["status"]) == ("agent run", "ada", "ERROR")
    assert (trace["input"], trace["total_spans"], trace["error_count"]) == ("what is the weather?", 2, 1)
    (root,) = trace["tree"]
    (child,) = root["spans"]
    assert (root["type"], child["type"], child["error"]) == ("AGENT", "TOOL", "no network")
