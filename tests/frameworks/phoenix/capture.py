"""Decorated agents, tools and model calls, registered as for Phoenix."""

from __future__ import annotations

import json
import sys
from typing import Any

# recipe
from phoenix.otel import register

tracer = register(project_name="weather", auto_instrument=True, batch=True, protocol="http/protobuf").get_tracer(
    "weather"
)
# end of recipe
from openai import OpenAI
from openinference.instrumentation import using_session, using_user

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


@tracer.tool
def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if sys.argv[1] == "tool-error":
        raise ValueError("weather service is down")
    return f"sunny in {city}"


@tracer.agent
def weather_agent(question: str) -> str:
    messages: list[Any] = [{"role": "user", "content": question}]
    reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
    [call] = reply.choices[0].message.tool_calls
    messages += [
        reply.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": get_weather(**json.loads(call.function.arguments))},
    ]
    return (
        client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER]).choices[0].message.content
    )


@tracer.chain
def answer(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    return client.chat.completions.create(model="gpt-4.1", messages=messages).choices[0].message.content


@tracer.chain
def answer_in_pieces(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    options = {"include_usage": True}
    chunks = client.chat.completions.create(model="gpt-4.1", messages=messages, stream=True, stream_options=options)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def agent() -> None:
    with using_session("session-7"), using_user("ada"):
        weather_agent(QUESTION)


def session() -> None:
    with using_session("session-7"), using_user("ada"):
        answer(QUESTION)
        answer("And tomorrow?")


def stream() -> None:
    answer_in_pieces(QUESTION)


def model_error() -> None:
    try:
        answer(QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def tool_error() -> None:
    try:
        weather_agent(QUESTION)
    except ValueError as error:
        print(error)


globals()[sys.argv[1].replace("-", "_")]()
