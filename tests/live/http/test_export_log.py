"""The log lines of a service about exports and open access. A user can act on each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from support.clients.otlp import export_request
from support.clients.tokens import jwks_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.services.process import RunningService

JSON = {"Content-Type": "application/json", "User-Agent": "exporter/1"}
PROTOBUF = {"Content-Type": "application/x-protobuf", "User-Agent": "exporter/1"}
EMPTY = b'{"resourceSpans": []}'


def said(service: RunningService) -> list[tuple[str, str]]:
    """Returns the level and the text of the log lines about exports."""
    return [
        (event["level"], event["message"])
        for event in service.events()
        if event["logger"] == "spanwise.traces.export_log"
    ]


def test_the_first_trace_is_said_and_no_other(start: Callable[..., RunningService]) -> None:
    service = start()
    for number in (1, 2):
        export = export_request(f"{number:032x}", "b" * 16, "c" * 16)
        service.http.post("/v1/traces", content=export, headers=JSON).raise_for_status()
    name = service.items()[0]["name"]
    assert said(service) == [("info", f"first trace received: {name}, 2 spans")]


def test_an_export_without_spans_is_said_once(start: Callable[..., RunningService]) -> None:
    service = start()
    for _ in range(3):
        assert service.http.post("/v1/traces", content=EMPTY, headers=JSON).status_code == 200
    ((level, text),) = said(service)
    assert level == "warning"
    assert text.startswith("an export contained no spans")


def test_a_refused_export_is_said_with_its_sender_and_what_to_do(start: Callable[..., RunningService]) -> None:
    service = start()
    for _ in range(5):  # one line covers all of them
        assert service.http.post("/v1/traces", content=b"spans", headers=JSON).status_code == 400
    assert service.http.post("/v1/traces", content=b"", headers={**JSON, "Content-Type": "text/csv"}).status_code == 415
    assert service.http.post("/v1/trace", content=b"", headers=PROTOBUF).status_code == 404
    invalid = json.loads(export_request("a" * 32, "b" * 16))
    invalid["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"] = "0" * 32
    assert service.http.post("/v1/traces", content=json.dumps(invalid), headers=JSON).status_code == 200
    lines = [text for level, text in said(service) if level == "warning"]
    sender = "an export of 127.0.0.1 (exporter/1) was refused: "
    assert lines[0].startswith(f"{sender}expected OTLP data as JSON")
    assert lines[0].endswith("; its exporter is to send OTLP as protobuf or JSON")
    assert lines[1].startswith(f"{sender}unsupported content type `text/csv`")
    assert lines[1].endswith("gRPC has a port of its own")
    assert lines[2].startswith(f"{sender}there is no `/v1/trace`; ")
    assert lines[2].endswith("spans are received at `/v1/traces`")
    assert lines[3].startswith("an export was stored without 1 of its spans: ")
    assert lines[3].endswith("trace id is all zero")
    assert len(lines) == 4


def test_an_export_without_a_token_says_how_one_is_sent(start: Callable[..., RunningService], tmp_path: Path) -> None:
    service = start("--authorization", JWT_JWKS_FILE=jwks_file(tmp_path))
    assert service.http.post("/v1/traces", content=EMPTY, headers=JSON).status_code == 401
    ((level, text),) = said(service)
    assert level == "warning"
    assert text.endswith('OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer TOKEN"')


def test_a_service_that_everyone_reaches_without_a_token_warns(start: Callable[..., RunningService]) -> None:
    def warned(*flags: str) -> list[str]:
        service = start(*flags)
        messages = [event["message"] for event in service.events() if "without authorization" in event["message"]]
        assert service.stop() == 0
        return messages

    assert warned() == []
    (warning,) = warned("--host", "0.0.0.0")
    assert warning.startswith(
        "it listens on 0.0.0.0 without authorization: every client that reaches this machine may read"
    )
