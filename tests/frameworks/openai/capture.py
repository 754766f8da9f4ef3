"""The OpenAI SDK, instrumented by OpenInference."""

from __future__ import annotations

import json
import sys

# recipe
from openai import OpenAI
from openinference.instrumentation import using_session, using_user
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
OpenAIInstrumentor().instrument()
# end of recipe

QUESTION = "What is the weather in Paris?"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Returns the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
client = OpenAI(max_retries=0)


def chat() -> None:
    messages = [
        {"role": "system", "content": "Answer in one sentence."},
        {"role": "user", "content": QUESTION},
    ]
    client.chat.completions.create(model="gpt-4.1-mini", messages=messages, temperature=0.2)


def chat_tool() -> None:
    messages = [{"role": "user", "content": QUESTION}]
    reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
    [call] = reply.choices[0].message.tool_calls
    messages += [
        reply.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": json.dumps({"sky": "clear"})},
    ]
    client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])


def chat_stream() -> None:
    messages = [{"role": "user", "content": QUESTION}]
    options = {"include_usage": True}
    for _ in client.chat.completions.create(model="gpt-4.1", messages=messages, stream=True, stream_options=options):
        pass


def chat_session() -> None:
    with using_session("session-7"), using_user("ada"):
        client.chat.completions.create(model="gpt-4.1", messages=[{"role": "user", "content": QUESTION}])
        client.chat.completions.create(model="gpt-4.1", messages=[{"role": "user", "content": "And tomorrow?"}])


def chat_error() -> None:
    try:
        client.chat.completions.create(model="gpt-4.1", messages=[{"role": "user", "content": QUESTION}])
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def responses() -> None:
    client.responses.create(model="gpt-5", instructions="Answer in one sentence.", input=QUESTION)


def embeddings() -> None:
    client.embeddings.create(model="text-embedding-3-small", input=["Paris", "Rome"])


globals()[sys.argv[1].replace("-", "_")]()
