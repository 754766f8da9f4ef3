"""The Anthropic SDK, instrumented by Traceloop (OpenLLMetry)."""

from __future__ import annotations

import sys
from typing import Any

# recipe
from anthropic import Anthropic, AnthropicError
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
AnthropicInstrumentor().instrument()
# end of recipe

MODEL = "claude-sonnet-4-5"
QUESTION = "What is the weather in Paris?"
WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
client = Anthropic(max_retries=0)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def message(messages: list[dict[str, Any]], **options: Any) -> Any:
    return client.messages.create(model=MODEL, max_tokens=100, messages=messages, **options)


def tool() -> None:
    options = {"system": "You know the weather.", "tools": [WEATHER]}
    messages = [user(QUESTION)]
    reply = message(messages, **options)
    [call] = [block for block in reply.content if block.type == "tool_use"]
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "It is sunny."}
    content = [block.model_dump(exclude_none=True) for block in reply.content]
    messages += [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    message(messages, **options)


def stream() -> None:
    with client.messages.stream(model=MODEL, max_tokens=100, messages=[user(QUESTION)]) as events:
        for _ in events.text_stream:
            pass


def model_error() -> None:
    try:
        message([user("Hello, my name is Ada.")])
    except AnthropicError as error:
        print(error)


globals()[sys.argv[1].replace("-", "_")]()
