"""Microsoft's Agent Framework with its own telemetry, and OpenInference's processor of it."""

from __future__ import annotations

import asyncio
import sys

# recipe
from agent_framework import Agent
from agent_framework.observability import enable_instrumentation
from agent_framework.openai import OpenAIChatClient
from openinference.instrumentation.agent_framework import AgentFrameworkToOpenInferenceProcessor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(AgentFrameworkToOpenInferenceProcessor())
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
enable_instrumentation(enable_sensitive_data=True)
# end of recipe

QUESTION = "What is the weather in Paris?"
client = OpenAIChatClient(model="gpt-4.1")


def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if city == "Atlantis":
        raise LookupError("no such city: Atlantis")
    return f"It is clear in {city}."


def weather_agent() -> Agent:
    return Agent(
        client=client,
        id="weather-agent-1",
        name="weather_agent",
        description="Knows the weather.",
        instructions="Answer in one sentence.",
        tools=[get_weather],
    )


async def agent_tool() -> None:
    await weather_agent().run(QUESTION)


async def agent_session() -> None:
    agent = weather_agent()
    session = agent.create_session(session_id="session-7")
    await agent.run(QUESTION, session=session)
    await agent.run("And tomorrow?", session=session)


async def agent_stream() -> None:
    async for _ in weather_agent().run(QUESTION, stream=True):
        pass


async def model_error() -> None:
    try:
        await weather_agent().run(QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


async def tool_error() -> None:
    """A failing tool, whose error the agent sends to the model."""
    await weather_agent().run("What is the weather in Atlantis?")


async def agents() -> None:
    """An agent calls another one as a tool."""
    await Agent(client=client, id="manager-1", name="manager", tools=[weather_agent().as_tool()]).run(QUESTION)


asyncio.run(globals()[sys.argv[1].replace("-", "_")]())
