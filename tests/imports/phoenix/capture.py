"""Sends spans of OpenInference to a Phoenix at http://127.0.0.1:6006, and writes what its client and its API return."""

import json
import os
import time
from pathlib import Path

import httpx
from opentelemetry.trace import Span, Status, StatusCode
from phoenix.client import Client
from phoenix.otel import register

ADDRESS = os.environ.get("PHOENIX", "http://127.0.0.1:6006")
FOLDER = Path(__file__).parent
KIND = "openinference.span.kind"


def message(number: int, side: str, role: str, content: str) -> dict[str, str]:
    name = f"llm.{side}_messages.{number}.message"
    return {f"{name}.role": role, f"{name}.content": content}


def call_model(span: Span, number: int, city: str) -> None:
    span.set_attributes(
        {
            KIND: "LLM",
            "llm.model_name": "gpt-4o-mini",
            "llm.provider": "openai",
            "llm.invocation_parameters": json.dumps({"temperature": 0}),
            "llm.token_count.prompt": 20 + number,
            "llm.token_count.completion": 7,
            "llm.token_count.total": 27 + number,
            **message(0, "input", "system", "Be brief."),
            **message(1, "input", "user", f"Weather in {city}?"),
            **message(0, "output", "assistant", "Sunny."),
        }
    )
    span.set_status(Status(StatusCode.OK))


def call_tool(span: Span, city: str) -> None:
    arguments = {"input.value": json.dumps({"city": city}), "input.mime_type": "application/json"}
    span.set_attributes({KIND: "TOOL", "tool.name": "get_weather", **arguments})
    if city == "Lima":
        span.record_exception(ValueError("no station in Lima"))
        span.set_status(Status(StatusCode.ERROR, "no station in Lima"))
    else:
        span.set_attribute("output.value", "sunny, 24 C")


def main() -> None:
    provider = register(
        endpoint=f"{ADDRESS}/v1/traces", project_name="sample", protocol="http/protobuf", batch=False, verbose=False
    )
    tracer = provider.get_tracer("sample")
    for number, city in enumerate(["Kyoto", "Oslo", "Lima"]):
        about = {"session.id": f"session-{number % 2}", "user.id": "ann", "metadata": json.dumps({"city": city})}
        with tracer.start_as_current_span("weather agent", attributes={KIND: "AGENT", **about}) as root:
            root.set_attribute("input.value", f"Weather in {city}?")
            with tracer.start_as_current_span("chat") as span:
                call_model(span, number, city)
            with tracer.start_as_current_span("get_weather") as span:
                call_tool(span, city)
            with tracer.start_as_current_span("retrieve", attributes={KIND: "RETRIEVER"}) as span:
                span.set_attribute("retrieval.documents.0.document.content", "Bring sunglasses.")
                span.set_attribute("retrieval.documents.0.document.score", 0.9)
                span.set_attribute("retrieval.documents.1.document.content", "Bring a hat.")
            root.set_attribute("output.value", "Sunny.")
    provider.shutdown()
    time.sleep(5)
    frame = Client(base_url=ADDRESS).spans.get_spans_dataframe(project_identifier="sample")
    frame.to_parquet(FOLDER / "spans.parquet")
    frame.to_json(FOLDER / "spans.jsonl", orient="records", lines=True, date_format="iso", date_unit="ns")
    (FOLDER / "spans.json").write_text(httpx.get(f"{ADDRESS}/v1/projects/sample/spans").text, "utf-8")


if __name__ == "__main__":
    main()
