"""Agents of Pydantic AI 1.0, with its own instrumentation."""

from __future__ import annotations

import asyncio
import sys

# recipe
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pydantic_ai import Agent
from pydantic_ai.models.instrumented import InstrumentationSettings

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
Agent.instrument_all(InstrumentationSettings(version=1))
# end of recipe
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

QUESTION = "What is the weather in Paris?"
if sys.argv[1] == "agent-format-2":
    Agent.instrument_all()
model = OpenAIChatModel("gpt-4.1", provider=OpenAIProvider(openai_client=AsyncOpenAI(max_retries=0)))
weather_agent = Agent(model, name="weather_agent", instructions="Answer in one sentence.")
chat_agent = Agent(model, name="chat_agent")


@weather_agent.tool_plain
def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if sys.argv[1] == "tool-error":
        raise ValueError("weather service is down")
    return f"sunny in {city}"


def agent() -> None:
    weather_agent.run_sync(QUESTION)


def stream() -> None:
    async def read() -> None:
        async with chat_agent.run_stream(QUESTION) as run:
            async for _ in run.stream_text():
                pass

    asyncio.run(read())


def model_error() -> None:
    try:
        chat_agent.run_sync(QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def tool_error() -> None:
    try:
        weather_agent.run_sync(QUESTION)
    except ValueError as error:
        print(error)


agent_format_2 = agent
globals()[sys.argv[1].replace("-", "_")]()
