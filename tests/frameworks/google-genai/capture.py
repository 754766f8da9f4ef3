"""The Google GenAI SDK, instrumented by OpenInference."""

from __future__ import annotations

import sys

# recipe
from google import genai
from openinference.instrumentation import using_session, using_user
from openinference.instrumentation.google_genai import GoogleGenAIInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
GoogleGenAIInstrumentor().instrument()
# end of recipe

from google.genai import errors, types

MODEL = "gemini-2.5-flash"
QUESTION = "What is the weather in Paris?"
client = genai.Client()


def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"It is sunny in {city}."


def generate() -> None:
    config = types.GenerateContentConfig(system_instruction="You know the weather.")
    client.models.generate_content(model=MODEL, contents=QUESTION, config=config)


def tool() -> None:
    config = types.GenerateContentConfig(tools=[get_weather])
    client.models.generate_content(model=MODEL, contents=QUESTION, config=config)


def stream() -> None:
    for _ in client.models.generate_content_stream(model=MODEL, contents=QUESTION):
        pass


def session() -> None:
    with using_session("session-1"), using_user("ada"):
        chat = client.chats.create(model=MODEL)
        chat.send_message("Hello, my name is Ada.")
        chat.send_message("What is my name?")


def model_error() -> None:
    try:
        client.models.generate_content(model=MODEL, contents="Hello, my name is Ada.")
    except errors.APIError as error:
        print(error)


globals()[sys.argv[1].replace("-", "_")]()
