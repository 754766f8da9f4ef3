"""Haystack, instrumented by OpenInference."""

from __future__ import annotations

import sys

# recipe
from haystack import Document, Pipeline
from haystack.components.agents import Agent
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from openinference.instrumentation.haystack import HaystackInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
HaystackInstrumentor().instrument()
# end of recipe

from typing import Annotated

from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.tools import tool
from openinference.instrumentation import using_attributes

QUESTION = "What is the weather in Paris?"


@tool
def get_weather(city: Annotated[str, "The name of the city."]) -> str:
    """Returns the weather of a city."""
    if city == "Atlantis":
        raise LookupError("no such city: Atlantis")
    return f"It is clear in {city}."


def weather_agent(**options: object) -> Agent:
    generator = OpenAIChatGenerator(model="gpt-4.1", max_retries=0)
    return Agent(chat_generator=generator, tools=[get_weather], system_prompt="Answer in one sentence.", **options)


def agent_tool() -> None:
    weather_agent().run(messages=[ChatMessage.from_user(QUESTION)])


def agent_session() -> None:
    with using_attributes(session_id="session-7", user_id="ada"):
        weather_agent().run(messages=[ChatMessage.from_user(QUESTION)])
        weather_agent().run(messages=[ChatMessage.from_user("And tomorrow?")])


def pipeline() -> None:
    """Documents are retrieved and a model is asked."""
    store = InMemoryDocumentStore()
    store.write_documents([Document(content="Paris: sunny weather."), Document(content="Rome: rain.")])
    template = "{% for document in documents %}{{ document.content }}{% endfor %} {{ question }}"
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=1))
    pipeline.add_component("prompt", ChatPromptBuilder([ChatMessage.from_user(template)], required_variables="*"))
    pipeline.add_component("model", OpenAIChatGenerator(model="gpt-4.1", max_retries=0))
    pipeline.connect("retriever", "prompt.documents")
    pipeline.connect("prompt.prompt", "model.messages")
    pipeline.run({"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}})


def model_error() -> None:
    try:
        weather_agent().run(messages=[ChatMessage.from_user(QUESTION)])
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def tool_error() -> None:
    """A failing tool, whose error the agent sends to the model."""
    weather_agent().run(messages=[ChatMessage.from_user("What is the weather in Atlantis?")])


globals()[sys.argv[1].replace("-", "_")]()
