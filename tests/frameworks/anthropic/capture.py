"""The Anthropic SDK, which sends spans by itself."""

from __future__ import annotations

import sys
from typing import Any

# recipe
from anthropic import Anthropic, AnthropicError, beta_tool
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
# end of recipe

MODEL = "claude-sonnet-4-5"
QUESTION = "What is the weather in Paris?"
WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
client = Anthropic(max_retries=0)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def message(messages: list[dict[str, Any]], **options: Any) -> Any:
    return client.messages.create(model=MODEL, max_tokens=100, messages=messages, **options)


def tool() -> None:
    options = {"system": "You know the weather.", "tools": [WEATHER]}
    messages = [user(QUESTION)]
    reply = message(messages, **options)
    [call] = [block for block in reply.content if block.type == "tool_use"]
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "It is sunny."}
    content = [block.model_dump(exclude_none=True) for block in reply.content]
    messages += [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]
    message(messages, **options)


def stream() -> None:
    with client.messages.stream(model=MODEL, max_tokens=100, messages=[user(QUESTION)]) as events:
        for _ in events.text_stream:
            pass


def model_error() -> None:
    try:
        message([user("Hello, my name is Ada.")])
    except AnthropicError as error:
        print(error)


def session() -> None:
    in_session = client.with_options(
        open_telemetry={"conversation_id": "session-1", "traces": {"content_mode": "content"}}
    )
    messages = [user("Hello, my name is Ada.")]
    reply = in_session.messages.create(model=MODEL, max_tokens=100, messages=messages)
    messages += [{"role": "assistant", "content": reply.content[0].text}, user("What is my name?")]
    in_session.messages.create(model=MODEL, max_tokens=100, messages=messages)


@beta_tool
def get_weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: The name of the city.
    """
    return f"It is sunny in {city}."


@beta_tool
def get_stock(symbol: str) -> str:
    """The price of a stock.

    Args:
        symbol: The stock.
    """
    raise ValueError(f"the exchange of {symbol} is closed")


def run_tools(question: str) -> None:
    runner = client.beta.messages.tool_runner(
        model=MODEL, max_tokens=100, messages=[user(question)], tools=[get_weather, get_stock]
    )
    runner.until_done()


def agent() -> None:
    run_tools(QUESTION)


def tool_error() -> None:
    run_tools("What does the stock SPAN cost?")


globals()[sys.argv[1].replace("-", "_")]()
