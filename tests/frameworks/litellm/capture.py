"""LiteLLM, instrumented by OpenInference."""

from __future__ import annotations

import asyncio
import sys

# recipe
import litellm
from openinference.instrumentation.litellm import LiteLLMInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
LiteLLMInstrumentor().instrument()
# end of recipe

QUESTION = [{"role": "user", "content": "What is the weather in Paris?"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Returns the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def completion() -> None:
    litellm.completion(model="openai/gpt-4.1", messages=QUESTION, temperature=0.2)


def completion_tool() -> None:
    litellm.completion(model="anthropic/claude-sonnet-4-5", messages=QUESTION, tools=[WEATHER])


def completion_stream() -> None:
    options = {"include_usage": True}
    for _ in litellm.completion(model="openai/gpt-4.1", messages=QUESTION, stream=True, stream_options=options):
        pass


def completion_session() -> None:
    """The user and the session as LiteLLM names them."""
    for question in ("What is the weather in Paris?", "And tomorrow?"):
        messages = [{"role": "user", "content": question}]
        litellm.completion(model="openai/gpt-4.1", messages=messages, user="ada", metadata={"session_id": "session-7"})


def completion_async() -> None:
    asyncio.run(litellm.acompletion(model="gemini/gemini-2.5-flash", messages=QUESTION))


def completion_error() -> None:
    try:
        litellm.completion(model="openai/gpt-4.1", messages=QUESTION, max_retries=0)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def embedding() -> None:
    litellm.embedding(model="openai/text-embedding-3-small", input=["Paris", "Rome"])


globals()[sys.argv[1].replace("-", "_")]()
