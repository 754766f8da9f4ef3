"""The Google Gen AI SDK, instrumented by OpenTelemetry's own package without a line of code."""

from __future__ import annotations

import sys

from google import genai
from google.genai.types import GenerateContentConfig
from opentelemetry import trace

MODEL = "gemini-2.5-flash"
QUESTION = "What is the weather in Paris?"
client = genai.Client()


def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"sunny in {city}"


def generate() -> None:
    config = GenerateContentConfig(system_instruction="Answer in one sentence.")
    client.models.generate_content(model=MODEL, contents=QUESTION, config=config)


def tool() -> None:
    identity = {"session.id": "session-7", "user.id": "ada"}
    with trace.get_tracer("shop").start_as_current_span("POST /questions", attributes=identity):
        config = GenerateContentConfig(tools=[get_weather])
        client.models.generate_content(model=MODEL, contents=QUESTION, config=config)


def stream() -> None:
    for _ in client.models.generate_content_stream(model=MODEL, contents=QUESTION):
        pass


def model_error() -> None:
    try:
        client.models.generate_content(model=MODEL, contents=QUESTION)
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


globals()[sys.argv[1].replace("-", "_")]()
