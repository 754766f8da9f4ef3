"""LlamaIndex's agents and a query engine, instrumented by OpenInference."""

from __future__ import annotations

import asyncio
import sys

# recipe
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.llms.openai import OpenAI
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
LlamaIndexInstrumentor().instrument()
# end of recipe

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from openinference.instrumentation import using_attributes

QUESTION = "What is the weather in Paris?"
model = OpenAI(model="gpt-4.1", max_retries=0)


def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if city == "Atlantis":
        raise LookupError("no such city: Atlantis")
    return f"It is clear in {city}."


def weather_agent(**options: object) -> FunctionAgent:
    return FunctionAgent(
        name="weather_agent",
        description="Knows the weather.",
        system_prompt="Answer in one sentence.",
        tools=[get_weather],
        llm=model,
        streaming=False,
        **options,
    )


async def agent_tool() -> None:
    await weather_agent().run(QUESTION)


async def agent_session() -> None:
    with using_attributes(session_id="session-7", user_id="ada"):
        await weather_agent().run(QUESTION)
        await weather_agent().run("And tomorrow?")


async def agent_stream() -> None:
    agent = FunctionAgent(name="weather_agent", tools=[get_weather], llm=model)
    handler = agent.run(QUESTION)
    async for _ in handler.stream_events():
        pass
    await handler


async def model_error() -> None:
    try:
        await weather_agent().run(QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


async def tool_error() -> None:
    """A failing tool, whose error the agent sends to the model."""
    await weather_agent().run("What is the weather in Atlantis?")


async def handoff() -> None:
    triage = FunctionAgent(
        name="triage",
        description="Finds the right agent.",
        llm=model,
        streaming=False,
        can_handoff_to=["weather_agent"],
    )
    await AgentWorkflow(agents=[triage, weather_agent()], root_agent="triage").run(QUESTION)


async def query() -> None:
    """An answer from documents that are searched."""
    documents = [Document(text="Paris: sunny."), Document(text="Rome: rain.")]
    index = VectorStoreIndex.from_documents(
        documents, embed_model=MockEmbedding(embed_dim=4), transformations=[lambda nodes, **_: nodes]
    )
    index.as_query_engine(llm=model, similarity_top_k=1).query(QUESTION)


asyncio.run(globals()[sys.argv[1].replace("-", "_")]())
