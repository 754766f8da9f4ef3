"""The OpenAI SDK, instrumented by OpenTelemetry's own package without a line of code."""

from __future__ import annotations

import json
import sys
from typing import Any

from openai import OpenAI
from opentelemetry import trace

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
    client.chat.completions.create(model="gpt-4.1", messages=messages)


def tool() -> None:
    identity = {"session.id": "session-7", "user.id": "ada"}
    with trace.get_tracer("shop").start_as_current_span("POST /questions", attributes=identity):
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
        [call] = reply.choices[0].message.tool_calls
        messages += [
            reply.choices[0].message.model_dump(exclude_none=True),
            {
                "role": "tool",
                "tool_call_id": call.id,
                "content": f"sunny in {json.loads(call.function.arguments)['city']}",
            },
        ]
        client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])


def stream() -> None:
    messages = [{"role": "user", "content": QUESTION}]
    options = {"include_usage": True}
    for _ in client.chat.completions.create(model="gpt-4.1", messages=messages, stream=True, stream_options=options):
        pass


def embeddings() -> None:
    client.embeddings.create(model="text-embedding-3-small", input=["Paris", "Rome"])


def model_error() -> None:
    try:
        client.chat.completions.create(model="gpt-4.1", messages=[{"role": "user", "content": QUESTION}])
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


globals()[sys.argv[1].replace("-", "_")]()
