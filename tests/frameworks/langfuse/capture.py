"""Agents, tools and model calls that are observed by the Langfuse SDK."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

# recipe
from langfuse import get_client, observe, propagate_attributes
from langfuse.openai import OpenAI
# end of recipe

if TYPE_CHECKING:
    from collections.abc import Callable

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


@observe(as_type="tool")
def get_weather(city: str) -> str:
    return f"sunny in {city}"


@observe(as_type="tool", name="get_weather")
def get_no_weather(city: str) -> str:
    raise ValueError(f"weather service is down: {city}")


def run_agent(question: str, tool: Callable[..., str]) -> str:
    messages: list[Any] = [{"role": "user", "content": question}]
    reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
    [call] = reply.choices[0].message.tool_calls
    messages += [
        reply.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": tool(**json.loads(call.function.arguments))},
    ]
    reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
    return reply.choices[0].message.content


@observe(as_type="agent")
def weather_agent(question: str) -> str:
    return run_agent(question, get_weather)


@observe(as_type="agent", name="weather_agent")
def failing_agent(question: str) -> str:
    return run_agent(question, get_no_weather)


@observe(as_type="agent")
def travel_agent(question: str) -> str:
    return complete([{"role": "user", "content": f"{weather_agent(question)} Do I need an umbrella?"}])


def complete(messages: list[Any]) -> str:
    reply = client.chat.completions.create(name="completion", model="gpt-4.1", messages=messages)
    return reply.choices[0].message.content


@observe
def answer(question: str) -> str:
    return complete([{"role": "user", "content": question}])


@observe(name="stream")
def answer_in_pieces(question: str) -> str:
    messages = [{"role": "user", "content": question}]
    options = {"include_usage": True}
    chunks = client.chat.completions.create(model="gpt-4.1", messages=messages, stream=True, stream_options=options)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def agent() -> None:
    with propagate_attributes(
        trace_name="weather question", session_id="session-7", user_id="ada", tags=["demo"], metadata={"plan": "pro"}
    ):
        weather_agent(QUESTION)


def session() -> None:
    with propagate_attributes(session_id="session-7", user_id="ada"):
        answer(QUESTION)
    with propagate_attributes(session_id="session-7", user_id="ada"):
        answer("And tomorrow?")


def stream() -> None:
    answer_in_pieces(QUESTION)


def responses() -> None:
    client.responses.create(model="gpt-5", instructions="Answer in one sentence.", input=QUESTION)


def model_error() -> None:
    try:
        answer(QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def tool_error() -> None:
    try:
        failing_agent(QUESTION)
    except ValueError as error:
        print(error)


def agents() -> None:
    travel_agent(QUESTION)


def observations() -> None:
    begin = get_client().start_as_current_observation
    with begin(as_type="span", name="handle_question", input={"question": QUESTION}) as root:
        with begin(as_type="retriever", name="search", input="weather Paris") as search:
            search.update(output=["It rains in Paris only at night."])
        with begin(as_type="embedding", name="embed", input="weather Paris", model="text-embedding-3-small") as embed:
            embed.update(output=[0.25], usage_details={"input": 7})
        with begin(as_type="generation", name="generate", input=QUESTION, model="claude-sonnet-4-5") as generate:
            usage = {"input": 10, "output": 5, "cache_read_input_tokens": 4}
            generate.update(output="It is sunny in Paris.", usage_details=usage)
        with begin(as_type="guardrail", name="check", input="It is sunny in Paris.") as check:
            check.update(level="ERROR", status_message="the answer names no source")
        root.update(output={"answer": "It is sunny in Paris."})


def langchain() -> None:
    from langchain.agents import create_agent  # noqa: PLC0415 - only this case needs them
    from langchain_openai import ChatOpenAI  # noqa: PLC0415
    from langfuse.langchain import CallbackHandler  # noqa: PLC0415

    def get_weather(city: str) -> str:
        """Returns the weather of a city."""
        return f"sunny in {city}"

    weather = create_agent(ChatOpenAI(model="gpt-4.1", max_retries=0), [get_weather], name="weather_agent")
    metadata = {"langfuse_session_id": "session-7", "langfuse_user_id": "ada"}
    messages = [{"role": "user", "content": QUESTION}]
    weather.invoke({"messages": messages}, {"callbacks": [CallbackHandler()], "metadata": metadata})


globals()[sys.argv[1].replace("-", "_")]()
get_client().flush()
