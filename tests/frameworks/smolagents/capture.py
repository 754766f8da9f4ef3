"""Smolagents, instrumented by OpenInference."""

from __future__ import annotations

import sys

# recipe
from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
SmolagentsInstrumentor().instrument()
# end of recipe

from openinference.instrumentation import using_attributes

QUESTION = "What is the weather in Paris?"
model = OpenAIModel("gpt-4.1", client_kwargs={"max_retries": 0}, retry=False)


@tool
def get_weather(city: str) -> str:
    """Returns the weather of a city.

    Args:
        city: The name of the city.
    """
    if city == "Atlantis":
        raise LookupError("no such city: Atlantis")
    return f"It is clear in {city}."


def weather_agent(**options: object) -> ToolCallingAgent:
    return ToolCallingAgent(tools=[get_weather], model=model, name="weather_agent", description="Weather.", **options)


def agent_tool() -> None:
    weather_agent().run(QUESTION)


def agent_session() -> None:
    with using_attributes(session_id="session-7", user_id="ada"):
        agent = weather_agent()
        agent.run(QUESTION)
        agent.run("And tomorrow?", reset=False)


def agent_stream() -> None:
    for _ in weather_agent(stream_outputs=True).run(QUESTION, stream=True):
        pass


def model_error() -> None:
    try:
        weather_agent().run(QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def tool_error() -> None:
    """A failing tool, whose error the agent sends to the model."""
    weather_agent().run("What is the weather in Atlantis?")


def agents() -> None:
    """A manager that writes code, and calls another agent in it."""
    CodeAgent(tools=[], model=model, name="manager", managed_agents=[weather_agent()]).run(QUESTION)


globals()[sys.argv[1].replace("-", "_")]()
