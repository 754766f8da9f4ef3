"""Google's Agent Development Kit, instrumented by OpenInference."""

from __future__ import annotations

import asyncio
import sys

# recipe
from google.adk.agents import Agent, SequentialAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai import types
from openinference.instrumentation.google_adk import GoogleADKInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
GoogleADKInstrumentor().instrument()
# end of recipe

QUESTION = "What is the weather in Paris?"


def get_weather(city: str) -> dict[str, str]:
    """Returns the weather of a city."""
    if city == "Atlantis":
        raise LookupError("no such city: Atlantis")
    return {"sky": "clear"}


def weather_agent() -> Agent:
    return Agent(
        name="weather_agent",
        model="gemini-2.5-flash",
        description="Knows the weather.",
        instruction="Answer in one sentence.",
        tools=[get_weather],
    )


async def ask(agent: Agent, *questions: str, mode: StreamingMode = StreamingMode.NONE) -> None:
    runner = InMemoryRunner(agent=agent, app_name="weather_app")
    await runner.session_service.create_session(app_name="weather_app", user_id="ada", session_id="session-7")
    for question in questions:
        message = types.Content(role="user", parts=[types.Part(text=question)])
        run = runner.run_async(
            user_id="ada", session_id="session-7", new_message=message, run_config=RunConfig(streaming_mode=mode)
        )
        async for _ in run:
            pass


async def agent_tool() -> None:
    await ask(weather_agent(), QUESTION)


async def agent_session() -> None:
    await ask(weather_agent(), QUESTION, "And tomorrow?")


async def agent_stream() -> None:
    await ask(weather_agent(), QUESTION, mode=StreamingMode.SSE)


async def model_error() -> None:
    try:
        await ask(weather_agent(), QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


async def tool_error() -> None:
    try:
        await ask(weather_agent(), "What is the weather in Atlantis?")
    except LookupError as error:
        print(error)


async def transfer() -> None:
    """An agent transfers the conversation to a sub-agent."""
    await ask(Agent(name="triage", model="gemini-2.5-flash", sub_agents=[weather_agent()]), QUESTION)


async def sequence() -> None:
    """Two agents, one after the other."""
    editor = Agent(name="editor", model="gemini-2.5-flash", instruction="Shorten the text.")
    await ask(SequentialAgent(name="news", sub_agents=[weather_agent(), editor]), QUESTION)


asyncio.run(globals()[sys.argv[1].replace("-", "_")]())
