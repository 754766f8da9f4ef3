"""Amazon Bedrock by boto3, instrumented by OpenTelemetry."""

from __future__ import annotations

import sys
from typing import Any

# recipe
import boto3
from opentelemetry import trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.botocore import BotocoreInstrumentor
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
logs = LoggerProvider()  # messages are sent as log records
logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
set_logger_provider(logs)
BotocoreInstrumentor().instrument()
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


globals()[sys.argv[1].replace("-", "_")]()
logs.shutdown()
