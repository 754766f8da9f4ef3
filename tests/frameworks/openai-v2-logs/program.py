"""A program instrumented with default processors and exporters: `python program.py CASE MODEL_URL`."""

from __future__ import annotations

import sys
from typing import Any

from openai import OpenAI
from opentelemetry import trace
from opentelemetry._logs import LogRecord, set_logger_provider
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
from opentelemetry.metrics import set_meter_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def answer(client: Any, case: str) -> None:
    """Asks the model about the weather: as a stream, or with a tool and its result."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You know the weather."},
        {"role": "user", "content": "What is the weather in Paris?"},
    ]
    create = client.chat.completions.create
    if case == "stream":
        list(create(model="gpt-4.1", messages=messages, stream=True, stream_options={"include_usage": True}))
        return
    first = create(model="gpt-4.1", messages=messages, tools=[TOOL])
    messages.append(first.choices[0].message.model_dump(exclude_none=True))
    messages.append({"role": "tool", "tool_call_id": "call_1", "content": "rain, 14 degrees"})
    create(model="gpt-4.1", messages=messages, tools=[TOOL])


def main(case: str, model: str) -> None:
    """Runs one case in a span of its own."""
    tracers, loggers = TracerProvider(), LoggerProvider()
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())])
    trace.set_tracer_provider(tracers)
    set_logger_provider(loggers)
    set_meter_provider(meters)
    OpenAIInstrumentor().instrument()
    with trace.get_tracer("app").start_as_current_span("answer"):
        loggers.get_logger("app").emit(LogRecord(timestamp=1, body="a plain log record"))
        answer(OpenAI(base_url=f"{model}/v1", api_key="none"), case)
    loggers.shutdown()
    tracers.shutdown()
    meters.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
