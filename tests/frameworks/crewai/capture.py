"""CrewAI, instrumented by OpenInference; its models by the instrumentation of the OpenAI SDK."""

from __future__ import annotations

import sys

# recipe
from crewai import LLM, Agent, Crew, Process, Task
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
CrewAIInstrumentor().instrument()
OpenAIInstrumentor().instrument()
# end of recipe

from crewai.flow.flow import Flow, listen, start
from crewai.tools import tool
from openinference.instrumentation import using_attributes

model = LLM(model="openai/gpt-4.1", max_retries=0)


@tool("get_weather")
def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if city == "Atlantis":
        raise LookupError("no such city: Atlantis")
    return f"It is clear in {city}."


def reporter(**options: object) -> Agent:
    return Agent(
        role="Weather Reporter",
        goal="Report the weather.",
        backstory="A careful reporter.",
        llm=model,
        tools=[get_weather],
        **options,
    )


def weather_crew(question: str = "What is the weather in {city}?") -> Crew:
    agent = reporter()
    task = Task(name="report", description=question, expected_output="One sentence.", agent=agent)
    return Crew(name="Weather Crew", agents=[agent], tasks=[task])


def crew_tool() -> None:
    weather_crew().kickoff(inputs={"city": "Paris"})


def crew_session() -> None:
    with using_attributes(session_id="session-7", user_id="ada"):
        weather_crew().kickoff(inputs={"city": "Paris"})
        weather_crew("And in {city} tomorrow?").kickoff(inputs={"city": "Paris"})


def model_error() -> None:
    try:
        weather_crew().kickoff(inputs={"city": "Paris"})
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


def tool_error() -> None:
    """A failing tool, whose error the agent sends to the model."""
    weather_crew().kickoff(inputs={"city": "Atlantis"})


def agents() -> None:
    """Two agents, one after the other."""
    editor = Agent(role="Editor", goal="Shorten texts.", backstory="A strict editor.", llm=model)
    report = Task(
        name="report", description="Write about the weather.", expected_output="A sentence.", agent=reporter()
    )
    edit = Task(name="edit", description="Shorten the text.", expected_output="A short sentence.", agent=editor)
    crew = Crew(name="News", agents=[report.agent, editor], tasks=[report, edit], process=Process.sequential)
    crew.kickoff()


def flow() -> None:
    """A flow of two methods without an agent."""

    class WeatherFlow(Flow):
        @start()
        def ask(self) -> str:
            return model.call("What is the weather in Paris?")

        @listen(ask)
        def shout(self, text: str) -> str:
            return text.upper()

    WeatherFlow().kickoff()


globals()[sys.argv[1].replace("-", "_")]()
