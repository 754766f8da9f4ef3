"""DSPy, instrumented by OpenInference; the tokens come from the instrumentation of LiteLLM, which DSPy calls."""

from __future__ import annotations

import sys

# recipe
import dspy
from openinference.instrumentation.dspy import DSPyInstrumentor
from openinference.instrumentation.litellm import LiteLLMInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
DSPyInstrumentor().instrument()
LiteLLMInstrumentor().instrument()
# end of recipe

from openinference.instrumentation import using_attributes

QUESTION = "What is the weather in Paris?"
dspy.configure(lm=dspy.LM("openai/gpt-4.1", cache=False, num_retries=0), adapter=dspy.ChatAdapter())


def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    if city == "Atlantis":
        raise LookupError("no such city: Atlantis")
    return f"It is clear in {city}."


def predict() -> None:
    dspy.Predict("question -> answer")(question=QUESTION)


def chain_of_thought() -> None:
    dspy.ChainOfThought("question -> answer")(question=QUESTION)


def react() -> None:
    """An agent of DSPy's."""
    dspy.ReAct("question -> answer", tools=[get_weather])(question=QUESTION)


def session() -> None:
    with using_attributes(session_id="session-7", user_id="ada"):
        dspy.Predict("question -> answer")(question=QUESTION)
        dspy.Predict("question -> answer")(question="And tomorrow?")


def model_error() -> None:
    try:
        dspy.Predict("question -> answer")(question=QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


globals()[sys.argv[1].replace("-", "_")]()
