"""The OpenAI SDK, instrumented by OpenLIT."""

from __future__ import annotations

import json
import sys
from typing import Any

# recipe
import openlit

openlit.init(application_name="weather", disable_metrics=True)
# end of recipe
from openai import OpenAI

QUESTION = "What is the weather in Paris?"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Returns the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
client = OpenAI(max_retries=0)


def chat() -> None:
    messages = [
        {"role": "system", "content": "Answer in one sentence."},
        {"role": "user", "content": QUESTION},
    ]
    client.chat.completions.create(model="gpt-4.1", messages=messages, user="ada")


def trace() -> None:
    with openlit.start_trace("weather question") as span:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
        [call] = reply.choices[0].message.tool_calls
        city = json.loads(call.function.arguments)["city"]
        messages += [
            reply.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": f"sunny in {city}"},
        ]
        reply = client.chat.completions.create(model="gpt-4.1", messages=messages, tools=[WEATHER])
        span.set_result(reply.choices[0].message.content)


def stream() -> None:
    messages = [{"role": "user", "content": QUESTION}]
    options = {"include_usage": True}
    for _ in client.chat.completions.create(model="gpt-4.1", messages=messages, stream=True, stream_options=options):
        pass


def model_error() -> None:
    try:
        client.chat.completions.create(model="gpt-4.1", messages=[{"role": "user", "content": QUESTION}])
    except Exception as error:  # noqa: BLE001 - the program goes on, as an application would
        print(error)


globals()[sys.argv[1].replace("-", "_")]()
