"""Log records of model calls are shown as events of their spans. Other log records and metrics are dropped.

The captured requests come from the OpenAI SDK, whose instrumentation sends messages as log records.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

from support.clients.otlp import export_request
from support.paths import TESTS
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

JSON = {"Content-Type": "application/json"}
PROTOBUF = {"Content-Type": "application/x-protobuf"}
EXPORTS = TESTS / "frameworks" / "openai-v2-logs" / "exports"
CAPTURED: list[dict[str, Any]] = json.loads((EXPORTS / "manifest.json").read_text("utf-8"))["files"]
CASES = list(dict.fromkeys(file["case"] for file in CAPTURED))
METRICS = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "a"}, {"name": "b"}]}]}]}
TRACE_ID = "ab" * 16
SPAN_ID = "c" * 16


def record(text: str = "hello", **changes: object) -> dict[str, object]:
    """Returns a log record with a message of a model call, in OTLP/JSON."""
    return {
        "timeUnixNano": str(time.time_ns()),
        "eventName": "gen_ai.user.message",
        "traceId": TRACE_ID,
        "spanId": SPAN_ID,
        "body": {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": text}}]}},
    } | changes


def logs(*records: dict[str, object]) -> dict[str, object]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}


def send_span(service: RunningService) -> None:
    service.http.post("/v1/traces", content=export_request(TRACE_ID, SPAN_ID), headers=JSON).raise_for_status()


def events(service: RunningService, trace_id: str = TRACE_ID) -> list[tuple[str, str]]:
    """Returns the events of the root of a trace, each as its name and its content."""
    (root,) = service.http.get(f"/traces/{trace_id}").raise_for_status().json()["tree"]
    found = root.get("extra_data", {}).get("events", [])
    return [(event["name"], event["attributes"]["content"]) for event in found]


def samples(service: RunningService) -> dict[str, float]:
    pairs = (line.rsplit(" ", 1) for line in service.http.get("/metrics").text.splitlines() if line[:1] != "#")
    return {name: float(number) for name, number in pairs}


def test_messages_wait_for_their_span_and_outlive_a_kill(tmp_path: Path) -> None:
    with RunningService(tmp_path / "data") as service:
        sent = service.http.post("/v1/logs", json=logs(record("first"), record("second")))
        assert (sent.status_code, sent.json()) == (200, {})
        assert service.trace_ids() == []
        assert service.http.get(f"/traces/{TRACE_ID}").status_code == 404
        service.kill()
    with RunningService(tmp_path / "data") as service:
        assert service.trace_ids() == []
        send_span(service)
        assert events(service) == [("gen_ai.user.message", "first"), ("gen_ai.user.message", "second")]
        (found,) = service.items()
        assert (found["total_spans"], found["name"]) == (1, f"span {SPAN_ID}")
        exported = service.http.get("/traces/export", params={"format": "ndjson"}).text
        assert json.loads(exported)["tree"][0]["extra_data"]["events"][0]["attributes"] == {"content": "first"}


def test_a_message_that_is_sent_twice_or_late_is_shown_once(service: RunningService) -> None:
    send_span(service)
    message = logs(record())
    for _ in range(2):
        service.http.post("/v1/logs", json=message).raise_for_status()
        send_span(service)
        assert events(service) == [("gen_ai.user.message", "hello")]


def test_what_belongs_to_no_span_is_dropped_counted_and_said_once(tmp_path: Path) -> None:
    with RunningService(tmp_path / "data") as service:
        others = [record(eventName="exception"), record(eventName=""), record(spanId=""), record(traceId="0" * 32)]
        for _ in range(2):
            assert service.http.post("/v1/logs", json=logs(*others, record())).json() == {}
            assert service.http.post("/v1/metrics", json=METRICS).json() == {}
        counted = samples(service)
        assert counted['spanwise_ingest_log_records_total{outcome="dropped"}'] == 8
        assert counted['spanwise_ingest_log_records_total{outcome="kept"}'] == 2
        assert counted['spanwise_ingest_metrics_total{outcome="dropped"}'] == 4
        said = [event["message"] for event in service.events() if "accepted and dropped" in event["message"]]
        assert sorted(said) == [
            "log records that carry no content of a span are accepted and dropped (logged once)",
            "metrics are accepted and dropped (logged once)",
        ]
        assert service.trace_ids() == []


def test_responses_are_in_the_encoding_of_the_request(service: RunningService) -> None:
    for path, response in (("/v1/logs", ExportLogsServiceResponse), ("/v1/metrics", ExportMetricsServiceResponse)):
        empty = service.http.post(path, content=b"", headers=PROTOBUF)
        assert (empty.status_code, empty.content, empty.headers["content-type"]) == (200, b"", PROTOBUF["Content-Type"])
        assert not response.FromString(empty.content).HasField("partial_success")
        broken = service.http.post(path, content=b"\xff", headers=PROTOBUF)
        assert (broken.status_code, Status.FromString(broken.content).code) == (400, 3)
        assert service.http.post(path, content=b"[", headers=JSON).json()["code"] == 3
        assert service.http.post(path, content=b"", headers={"Content-Type": "text/plain"}).status_code == 415
        assert service.http.post(path, params={"db_id": "x"}, content=b"", headers=PROTOBUF).status_code == 404
        large = service.http.post(path, content=b" " * (20 << 20) + b"{}", headers=JSON)
        assert large.status_code == 413


def test_an_invalid_message_is_a_partial_success(service: RunningService) -> None:
    ahead = str(time.time_ns() + 2 * 86_400 * 10**9)
    partial = service.http.post("/v1/logs", json=logs(record("kept"), record(timeUnixNano=ahead))).json()
    assert partial["partialSuccess"]["rejectedLogRecords"] == "1"
    reason = partial["partialSuccess"]["errorMessage"]
    assert reason.startswith("1 log record rejected: log record 2 of the request: event time ")
    send_span(service)
    assert ("gen_ai.user.message", "kept") in events(service)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("order", [1, -1], ids=["as sent", "reversed"])
def test_the_messages_of_a_program_are_on_its_model_spans(tmp_path: Path, case: str, order: int) -> None:
    with RunningService(tmp_path / "data") as service:
        for file in [file for file in CAPTURED if file["case"] == case][::order]:
            headers = {"Content-Type": file["content_type"]}
            sent = service.http.post(file["path"], content=(EXPORTS / file["file"]).read_bytes(), headers=headers)
            assert (sent.status_code, sent.content) == (200, b""), file["file"]
        (trace,) = service.items()
        assert (trace["total_spans"], trace["status"]) == (3 if case != "stream" else 2, "OK")
        (root,) = trace["tree"]
        assert root["name"] == "answer"
        assert "events" not in root.get("extra_data", {})
        for model, expected in zip(root["spans"], EXPECTED[case], strict=True):
            assert (model["type"], model["name"]) == ("LLM", "chat gpt-4.1")
            assert_events(model["extra_data"]["events"], expected)
            assert QUESTION in model["input"]
        assert ANSWER in root["spans"][-1]["output"]
        counted = samples(service)
        assert counted['spanwise_ingest_log_records_total{outcome="dropped"}'] == 1


QUESTION = "What is the weather in Paris?"
ANSWER = "It rains in Paris, at 14 degrees."
ASKED = [("gen_ai.system.message", "You know the weather."), ("gen_ai.user.message", QUESTION)]
CALL = '"name": "get_weather"'
EXPECTED: dict[str, list[list[tuple[str, str]]]] = {
    "tool": [
        [*ASKED, ("gen_ai.choice", CALL)],
        [
            *ASKED,
            ("gen_ai.assistant.message", CALL),
            ("gen_ai.tool.message", "rain, 14 degrees"),
            ("gen_ai.choice", ANSWER),
        ],
    ],
    "stream": [[*ASKED, ("gen_ai.choice", ANSWER)]],
    "operation-details": [
        [("gen_ai.client.inference.operation.details", QUESTION)],
        [("gen_ai.client.inference.operation.details", ANSWER)],
    ],
}
"""The ordered events of each model span of a case: the name, and a text in its content."""


def assert_events(found: Sequence[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    assert [event["name"] for event in found] == [name for name, _ in expected]
    for event, (_, text) in zip(found, expected, strict=True):
        assert text in json.dumps(event["attributes"]), event
    assert max(Counter(json.dumps(event) for event in found).values()) == 1
