"""AutoGen's AgentChat, instrumented by OpenInference; models with the instrumentation of the OpenAI SDK."""

from __future__ import annotations

import asyncio
import sys

# recipe
from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
AutogenAgentChatInstrumentor().instrument()
OpenAIInstrumentor().instrument()
# end of recipe

from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from openinference.instrumentation import using_attributes

QUESTION = "What is the weather in Paris?"
model = OpenAIChatCompletionClient(model="gpt-4.1-2025-04-14", max_retries=0)


async def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if city == "Atlantis":
        raise LookupError("no such city: Atlantis")
    return f"It is clear in {city}."


def weather_agent(**options: object) -> AssistantAgent:
    return AssistantAgent(
        "weather_agent",
        model_client=model,
        tools=[get_weather],
        system_message="Answer in one sentence.",
        reflect_on_tool_use=True,
        **options,
    )


async def agent_tool() -> None:
    await weather_agent().run(task=QUESTION)


async def agent_session() -> None:
    agent = weather_agent()
    with using_attributes(session_id="session-7", user_id="ada"):
        await agent.run(task=QUESTION)
        await agent.run(task="And tomorrow?")


async def agent_stream() -> None:
    async for _ in weather_agent(model_client_stream=True).run_stream(task=QUESTION):
        pass


async def model_error() -> None:
    try:
        await weather_agent().run(task=QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


async def tool_error() -> None:
    """A failing tool, whose error the agent sends to the model."""
    await weather_agent().run(task="What is the weather in Atlantis?")


async def team() -> None:
    editor = AssistantAgent("editor", model_client=model, system_message="Shorten the text.")
    team = RoundRobinGroupChat([weather_agent(), editor], termination_condition=MaxMessageTermination(3))
    await team.run(task=QUESTION)


asyncio.run(globals()[sys.argv[1].replace("-", "_")]())
