"""A workflow, an agent, a tool and model calls that are instrumented by an older Traceloop SDK."""

from __future__ import annotations

import json
import sys
from typing import Any

# recipe
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool, workflow

Traceloop.init(app_name="weather")
# end of recipe

from openai import OpenAI

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


@tool(name="get_weather")
def get_weather(city: str) -> str:
    return f"sunny in {city}"


@agent(name="weather_agent")
def weather_agent(question: str) -> str:
    messages: list[Any] = [{"role": "user", "content": question}]
    reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
    [call] = reply.choices[0].message.tool_calls
    messages += [
        reply.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": get_weather(**json.loads(call.function.arguments))},
    ]
    reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
    return reply.choices[0].message.content


@workflow(name="weather_question")
def weather_question(question: str) -> str:
    return weather_agent(question)


def answer() -> None:
    Traceloop.set_association_properties({"session_id": "session-7", "user_id": "ada"})
    weather_question(QUESTION)


def stream() -> None:
    messages = [{"role": "user", "content": QUESTION}]
    options = {"include_usage": True}
    for _ in client.chat.completions.create(model="gpt-4.1", messages=messages, stream=True, stream_options=options):
        pass


def model_error() -> None:
    try:
        client.chat.completions.create(model="gpt-4.1", messages=[{"role": "user", "content": QUESTION}])
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


{"agent": answer, "stream": stream, "model-error": model_error}[sys.argv[1]]()
