"""LangChain's agents on LangGraph, instrumented by OpenInference."""

from __future__ import annotations

import asyncio
import sys

# recipe
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
LangChainInstrumentor().instrument()
# end of recipe

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

QUESTION = {"messages": [{"role": "user", "content": "What is the weather in Paris?"}]}
model = ChatOpenAI(model="gpt-4.1", max_retries=0)


@tool
def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if city == "Atlantis":
        raise LookupError("no such city: Atlantis")
    return f"It is clear in {city}."


def weather_agent() -> object:
    return create_agent(model, [get_weather], system_prompt="Answer in one sentence.", name="weather_agent")


def agent_tool() -> None:
    weather_agent().invoke(QUESTION)


def agent_session() -> None:
    agent = create_agent(model, [get_weather], name="weather_agent", checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "session-7"}, "metadata": {"user_id": "ada"}}
    agent.invoke(QUESTION, config)
    agent.invoke({"messages": [{"role": "user", "content": "And tomorrow?"}]}, config)


def agent_stream() -> None:
    streaming = ChatOpenAI(model="gpt-4.1", max_retries=0, stream_usage=True)
    agent = create_agent(streaming, [get_weather], name="weather_agent")

    async def run() -> None:
        async for _ in agent.astream(QUESTION, stream_mode="messages"):
            pass

    asyncio.run(run())


def model_error() -> None:
    try:
        weather_agent().invoke(QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def tool_error() -> None:
    try:
        weather_agent().invoke({"messages": [{"role": "user", "content": "What is the weather in Atlantis?"}]})
    except LookupError as error:
        print(error)


def agents() -> None:
    """A supervisor that calls another agent as a tool."""
    expert = weather_agent()

    @tool
    def ask_weather_agent(question: str) -> str:
        """Asks the weather agent."""
        return expert.invoke({"messages": [HumanMessage(question)]})["messages"][-1].content

    create_agent(model, [ask_weather_agent], name="supervisor").invoke(QUESTION)


def graph() -> None:
    """A graph of two nodes without an agent of LangChain's."""
    graph = StateGraph(MessagesState)
    graph.add_node("draft", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("review", lambda state: {"messages": [model.invoke([*state["messages"], HumanMessage("Review.")])]})
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "review")
    graph.add_edge("review", END)
    graph.compile(name="writer").invoke(QUESTION)


def chat() -> None:
    """The model alone."""
    model.invoke("What is the weather in Paris?")


globals()[sys.argv[1].replace("-", "_")]()
