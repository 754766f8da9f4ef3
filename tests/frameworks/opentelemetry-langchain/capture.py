"""LangChain, instrumented by OpenTelemetry's own package without a line of code."""

from __future__ import annotations

import sys

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI

QUESTION = "What is the weather in Paris?"
model = ChatOpenAI(model="gpt-4.1", max_retries=0, stream_usage=True)


def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"sunny in {city}"


def agent() -> None:
    weather = create_agent(model, [get_weather], name="weather_agent")
    messages = [{"role": "user", "content": QUESTION}]
    weather.invoke({"messages": messages}, {"configurable": {"thread_id": "session-7"}})


def stream() -> None:
    for _ in model.stream(QUESTION):
        pass


def model_error() -> None:
    try:
        model.invoke(QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


globals()[sys.argv[1].replace("-", "_")]()
