"""Agno, instrumented by OpenInference."""

from __future__ import annotations

import sys

# recipe
from agno.agent import Agent
from agno.models.openai import OpenAIChat
from openinference.instrumentation.agno import AgnoInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
AgnoInstrumentor().instrument()
# end of recipe

from agno.team import Team

QUESTION = "What is the weather in Paris?"


def model() -> OpenAIChat:
    return OpenAIChat(id="gpt-4.1", max_retries=0)


def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if city == "Atlantis":
        raise LookupError("no such city: Atlantis")
    return f"It is clear in {city}."


def weather_agent() -> Agent:
    return Agent(
        id="weather-agent",
        name="Weather Agent",
        role="Knows the weather.",
        model=model(),
        tools=[get_weather],
        telemetry=False,
    )


def agent_tool() -> None:
    weather_agent().run(QUESTION)


def agent_session() -> None:
    agent = weather_agent()
    agent.run(QUESTION, session_id="session-7", user_id="ada")
    agent.run("And tomorrow?", session_id="session-7", user_id="ada")


def agent_stream() -> None:
    for _ in weather_agent().run(QUESTION, stream=True):
        pass


def model_error() -> None:
    try:
        weather_agent().run(QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def tool_error() -> None:
    """A failing tool, whose error the agent sends to the model."""
    weather_agent().run("What is the weather in Atlantis?")


def team() -> None:
    Team(id="news", name="News", model=model(), members=[weather_agent()], telemetry=False).run(QUESTION)


globals()[sys.argv[1].replace("-", "_")]()
