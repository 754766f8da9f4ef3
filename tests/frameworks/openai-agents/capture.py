"""The OpenAI Agents SDK, instrumented by OpenInference."""

from __future__ import annotations

import asyncio
import sys

# recipe
from agents import Agent, Runner, function_tool
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
OpenAIAgentsInstrumentor().instrument()
# end of recipe

from agents import OpenAIChatCompletionsModel, SQLiteSession, set_default_openai_client
from openai import AsyncOpenAI
from openinference.instrumentation import using_attributes

QUESTION = "What is the weather in Paris?"
client = AsyncOpenAI(max_retries=0)
set_default_openai_client(client, use_for_tracing=False)


@function_tool
def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"It is clear in {city}."


@function_tool(failure_error_function=None)
def get_forecast(city: str) -> str:
    """Returns the forecast of a city."""
    raise LookupError(f"no such city: {city}")


def weather_agent(**options: object) -> Agent:
    return Agent(
        name="Weather Agent",
        instructions="Answer in one sentence.",
        model="gpt-4.1",
        tools=[get_weather, get_forecast],
        **options,
    )


def agent_tool() -> None:
    Runner.run_sync(weather_agent(), QUESTION)


def agent_chat_completions() -> None:
    """The same with the older API of models."""
    model = OpenAIChatCompletionsModel("gpt-4.1", client)
    agent = Agent(name="Weather Agent", instructions="Answer in one sentence.", model=model, tools=[get_weather])
    Runner.run_sync(agent, QUESTION)


def agent_session() -> None:
    session = SQLiteSession("session-7")
    with using_attributes(session_id="session-7", user_id="ada"):
        Runner.run_sync(weather_agent(), QUESTION, session=session)
        Runner.run_sync(weather_agent(), "And tomorrow?", session=session)


def agent_stream() -> None:
    async def run() -> None:
        async for _ in Runner.run_streamed(weather_agent(), QUESTION).stream_events():
            pass

    asyncio.run(run())


def model_error() -> None:
    try:
        Runner.run_sync(weather_agent(), QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def tool_error() -> None:
    try:
        Runner.run_sync(weather_agent(), "What is the forecast of Atlantis?")
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def handoff() -> None:
    triage = Agent(name="Triage", model="gpt-4.1", handoffs=[weather_agent()])
    Runner.run_sync(triage, QUESTION)


globals()[sys.argv[1].replace("-", "_")]()
