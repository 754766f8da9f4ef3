"""Amazon Bedrock by boto3, instrumented by OpenInference."""

from __future__ import annotations

import sys
from typing import Any

# recipe
import boto3
from openinference.instrumentation import using_session, using_user
from openinference.instrumentation.bedrock import BedrockInstrumentor
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
BedrockInstrumentor().instrument()
# end of recipe

from botocore.config import Config
from botocore.exceptions import ClientError

MODEL = "anthropic.claude-sonnet-4-5-20250929-v1:0"
QUESTION = "What is the weather in Paris?"
WEATHER = {
    "toolSpec": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "inputSchema": {"json": {"type": "object", "properties": {"city": {"type": "string"}}}},
    }
}
client = boto3.client("bedrock-runtime", config=Config(retries={"total_max_attempts": 1}))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"text": text}]}


def converse() -> None:
    client.converse(
        modelId=MODEL,
        system=[{"text": "You know the weather."}],
        messages=[user(QUESTION)],
        inferenceConfig={"maxTokens": 100},
    )


def tool() -> None:
    messages = [user(QUESTION)]
    options = {"modelId": MODEL, "toolConfig": {"tools": [WEATHER]}}
    reply = client.converse(messages=messages, **options)["output"]["message"]
    [call] = [block["toolUse"] for block in reply["content"] if "toolUse" in block]
    result = {"toolUseId": call["toolUseId"], "content": [{"text": "It is sunny."}]}
    messages += [reply, {"role": "user", "content": [{"toolResult": result}]}]
    client.converse(messages=messages, **options)


def model_error() -> None:
    try:
        client.converse(modelId=MODEL, messages=[user("Hello, my name is Ada.")])
    except ClientError as error:
        print(error)


def session() -> None:
    messages = [user("Hello, my name is Ada.")]
    with using_session("session-1"), using_user("ada"):
        messages.append(client.converse(modelId=MODEL, messages=messages)["output"]["message"])
        messages.append(user("What is my name?"))
        client.converse(modelId=MODEL, messages=messages)


globals()[sys.argv[1].replace("-", "_")]()
