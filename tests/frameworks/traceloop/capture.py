"""Workflows, agents, tools and model calls that are instrumented by the Traceloop SDK."""

from __future__ import annotations

import json
import sys
from typing import Any

# recipe
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, task, tool, workflow

Traceloop.init(app_name="weather")
# end of recipe

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
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
def get_weather(city: str, *, is_down: bool = False) -> str:
    if is_down:
        raise ValueError("weather service is down")
    return f"sunny in {city}"


@agent(name="weather_agent")
def weather_agent(question: str, *, is_down: bool = False) -> str:
    messages: list[Any] = [{"role": "user", "content": question}]
    reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
    [call] = reply.choices[0].message.tool_calls
    messages += [
        reply.choices[0].message.model_dump(exclude_none=True),
        {
            "role": "tool",
            "tool_call_id": call.id,
            "content": get_weather(**json.loads(call.function.arguments), is_down=is_down),
        },
    ]
    return (
        client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER]).choices[0].message.content
    )


@workflow(name="weather_question")
def weather_question(question: str) -> str:
    return weather_agent(question)


@task(name="complete")
def complete(question: str) -> str:
    messages = [{"role": "system", "content": "Answer in one sentence."}, {"role": "user", "content": question}]
    return client.chat.completions.create(model="gpt-4.1", messages=messages).choices[0].message.content


@workflow(name="answer")
def answer(question: str) -> str:
    return complete(question)


def agent_case() -> None:
    Traceloop.set_association_properties({"session_id": "session-7", "user_id": "ada", "plan": "pro"})
    weather_question(QUESTION)


def session() -> None:
    Traceloop.set_association_properties({"session_id": "session-7", "user_id": "ada"})
    answer(QUESTION)
    answer("And tomorrow?")


def stream() -> None:
    messages = [{"role": "user", "content": QUESTION}]
    options = {"include_usage": True}
    for _ in client.chat.completions.create(model="gpt-4.1", messages=messages, stream=True, stream_options=options):
        pass


def responses() -> None:
    client.responses.create(model="gpt-5", instructions="Answer in one sentence.", input=QUESTION)


def embeddings() -> None:
    client.embeddings.create(model="text-embedding-3-small", input=["Paris", "Rome"])


def model_error() -> None:
    try:
        answer(QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def tool_error() -> None:
    try:
        weather_agent(QUESTION, is_down=True)
    except ValueError as error:
        print(error)


def langchain() -> None:
    def get_weather(city: str) -> str:
        """Returns the weather of a city."""
        return f"sunny in {city}"

    weather = create_agent(ChatOpenAI(model="gpt-4.1", max_retries=0), [get_weather], name="weather_agent")
    config = {"configurable": {"thread_id": "session-7"}, "metadata": {"user_id": "ada"}}
    weather.invoke({"messages": [{"role": "user", "content": QUESTION}]}, config)


case = sys.argv[1].replace("-", "_")
agent_case() if case == "agent" else globals()[case]()
