"""Agents of Strands."""

from __future__ import annotations

import sys

# recipe
from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.telemetry import StrandsTelemetry

telemetry = StrandsTelemetry().setup_otlp_exporter()
# end of recipe
from strands.multiagent import GraphBuilder

QUESTION = "What is the weather in Paris?"
IDENTITY = {"session.id": "session-7", "user.id": "ada"}
model = OpenAIModel(client_args={"max_retries": 0}, model_id="gpt-4.1")


@tool
def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if sys.argv[1] == "tool-error":
        raise ValueError("weather service is down")
    return f"sunny in {city}"


weather_agent = Agent(
    model=model, name="weather_agent", tools=[get_weather], callback_handler=None, trace_attributes=IDENTITY
)
chat_agent = Agent(model=model, name="chat_agent", callback_handler=None, trace_attributes=IDENTITY)


@tool
def ask_weather(city: str) -> str:
    """Asks for the weather of a city."""
    return str(weather_agent(f"What is the weather in {city}?"))


def agent() -> None:
    weather_agent(QUESTION)


def session() -> None:
    chat_agent(QUESTION)
    chat_agent("And tomorrow?")


def model_error() -> None:
    try:
        chat_agent(QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def tool_error() -> None:
    weather_agent(QUESTION)


def agents() -> None:
    travel_agent = Agent(model=model, name="travel_agent", tools=[ask_weather], callback_handler=None)
    travel_agent("Do I need an umbrella?")


def graph() -> None:
    builder = GraphBuilder()
    builder.add_node(chat_agent, "weather")
    builder.add_node(Agent(model=model, name="travel_agent", callback_handler=None), "travel")
    builder.add_edge("weather", "travel")
    builder.set_entry_point("weather")
    builder.build()(QUESTION)


globals()[sys.argv[1].replace("-", "_")]()
telemetry.tracer_provider.force_flush()
