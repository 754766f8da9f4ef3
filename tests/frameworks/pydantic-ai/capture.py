"""Agents of Pydantic AI, with its own instrumentation."""

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
Agent.instrument_all()
# end of recipe
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

QUESTION = "What is the weather in Paris?"
if sys.argv[1] == "agent-format-2":
    Agent.instrument_all(InstrumentationSettings(version=2))
model = OpenAIChatModel("gpt-4.1", provider=OpenAIProvider(openai_client=AsyncOpenAI(max_retries=0)))
weather_agent = Agent(model, name="weather_agent", instructions="Answer in one sentence.")
chat_agent = Agent(model, name="chat_agent")
travel_agent = Agent(model, name="travel_agent")


@weather_agent.tool_plain
def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if sys.argv[1] == "tool-error":
        raise ValueError("weather service is down")
    return f"sunny in {city}"


@travel_agent.tool_plain
async def ask_weather(city: str) -> str:
    """Asks for the weather of a city."""
    return (await weather_agent.run(f"What is the weather in {city}?")).output


def agent() -> None:
    weather_agent.run_sync(QUESTION, conversation_id="session-7")


def session() -> None:
    tracer, history = trace.get_tracer("shop"), None
    for question in (QUESTION, "And tomorrow?"):
        with tracer.start_as_current_span("POST /questions", attributes={"user.id": "ada"}):
            run = chat_agent.run_sync(question, message_history=history, conversation_id="session-7")
        history = run.all_messages()


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


def agents() -> None:
    travel_agent.run_sync("Do I need an umbrella?")


agent_format_2 = agent
globals()[sys.argv[1].replace("-", "_")]()
