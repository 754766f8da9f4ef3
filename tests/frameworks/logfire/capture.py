"""Spans, messages of the log and model calls of the OpenAI SDK that are instrumented by Logfire."""

from __future__ import annotations

import json
import sys
from typing import Any

# recipe
import logfire
from openai import OpenAI

logfire.configure(send_to_logfire=False, service_name="weather")
client = OpenAI(max_retries=0)
logfire.instrument_openai(client)
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


def chat() -> None:
    with logfire.span("handle {topic} for {user}", topic="weather", user="ada"):
        messages = [
            {"role": "system", "content": "Answer in one sentence."},
            {"role": "user", "content": QUESTION},
        ]
        reply = client.chat.completions.create(model="gpt-4.1", messages=messages)
        logfire.info("answered with {length} characters", length=len(reply.choices[0].message.content))


def agent() -> None:
    identity = {"gen_ai.conversation.id": "session-7", "user.id": "ada"}
    with logfire.span("weather_agent", **identity):
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
        [call] = reply.choices[0].message.tool_calls
        arguments = json.loads(call.function.arguments)
        with logfire.span("get_weather {city}", **arguments):
            result = f"sunny in {arguments['city']}"
        messages += [
            reply.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": result},
        ]
        client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])


def stream() -> None:
    with logfire.span("stream"):
        messages = [{"role": "user", "content": QUESTION}]
        options = {"include_usage": True}
        for _ in client.chat.completions.create(
            model="gpt-4.1", messages=messages, stream=True, stream_options=options
        ):
            pass


def responses() -> None:
    client.responses.create(model="gpt-5", instructions="Answer in one sentence.", input=QUESTION)


def embeddings() -> None:
    client.embeddings.create(model="text-embedding-3-small", input=["Paris", "Rome"])


def model_error() -> None:
    try:
        client.chat.completions.create(model="gpt-4.1", messages=[{"role": "user", "content": QUESTION}])
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


globals()[sys.argv[1].replace("-", "_")]()
