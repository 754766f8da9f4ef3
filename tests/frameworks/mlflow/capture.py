"""Functions and model calls that are traced by MLflow."""

from __future__ import annotations

import json
import sys
from typing import Any

# recipe
import mlflow
from mlflow.entities import SpanType

mlflow.openai.autolog()
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


@mlflow.trace(span_type=SpanType.TOOL)
def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if sys.argv[1] == "tool-error":
        raise ValueError("weather service is down")
    return f"sunny in {city}"


@mlflow.trace(span_type=SpanType.AGENT)
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


@mlflow.trace(span_type=SpanType.CHAIN)
def answer(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    return client.chat.completions.create(model="gpt-4.1", messages=messages).choices[0].message.content


@mlflow.trace(span_type=SpanType.CHAIN)
def answer_in_pieces(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    options = {"include_usage": True}
    chunks = client.chat.completions.create(model="gpt-4.1", messages=messages, stream=True, stream_options=options)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def agent() -> None:
    weather_agent(QUESTION)


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
