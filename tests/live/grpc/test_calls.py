"""OTLP over gRPC: the stored spans, and the status of every failure."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import httpx
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs

from support.clients.grpc import (
    CHECK,
    EXPORT,
    INVALID_ARGUMENT,
    LOGS,
    METRICS,
    NOT_FOUND,
    OK,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    UNIMPLEMENTED,
    export_message,
    framed,
)
from support.clients.tokens import as_admin, as_caller, bearer
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.services.receiver import Receiver

SPAN = "b" * 16


def test_what_was_acknowledged_is_durable(receive: Callable[..., Receiver], start: Callable[..., object]) -> None:
    receiver = receive()
    with receiver.connect() as client:
        assert client.call(export_message("a" * 32, SPAN, text="one")).code == OK
        assert client.call(export_message("c" * 32, SPAN, text="two"), compression="gzip").code == OK
    receiver.service.kill()
    reopened = start()
    assert isinstance(reopened, RunningService)
    assert set(reopened.trace_ids()) == {"a" * 32, "c" * 32}


def test_the_response_says_what_was_rejected(open_one: Receiver) -> None:
    message = export_message("d" * 32, SPAN) + export_message("0" * 32, SPAN)
    with open_one.connect() as client:
        reply = client.call(message)
    assert reply.code == OK
    assert reply.headers["content-type"] == "application/grpc"
    response = ExportTraceServiceResponse.FromString(reply.message or b"")
    assert response.partial_success.rejected_spans == 1
    assert "d" * 32 in open_one.service.trace_ids()


def test_log_records_and_metrics_have_services_of_their_own(open_one: Receiver) -> None:
    trace_id = "7" * 32
    record = LogRecord(
        event_name="gen_ai.user.message",
        trace_id=bytes.fromhex(trace_id),
        span_id=bytes.fromhex(SPAN),
        body=AnyValue(string_value="what is said over gRPC"),
    )
    logs = ExportLogsServiceRequest(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=[record])])])
    with open_one.connect() as client:
        kept = client.call(logs.SerializeToString(), path=LOGS)
        assert ExportLogsServiceResponse.FromString(kept.message or b"") == ExportLogsServiceResponse()
        assert client.call(ExportMetricsServiceRequest().SerializeToString(), path=METRICS).code == OK
        assert client.call(b"\xff", path=LOGS).code == client.call(b"\xff", path=METRICS).code == INVALID_ARGUMENT
        assert trace_id not in open_one.service.trace_ids()
        assert client.call(export_message(trace_id, SPAN)).code == OK
    assert "what is said over gRPC" in open_one.service.http.get(f"/traces/{trace_id}").raise_for_status().text


def test_calls_of_one_connection_at_once(open_one: Receiver) -> None:
    with open_one.connect() as client:
        streams = [client.begin() for _ in range(50)]
        for number, stream in enumerate(streams):
            client.send(stream, framed(export_message(f"{number + 1:032x}", SPAN, text="x" * 10_000)))
        assert {client.reply(stream).code for stream in streams} == {OK}
    assert {f"{number + 1:032x}" for number in range(50)} <= set(open_one.service.trace_ids())


def test_a_message_in_single_bytes_is_whole(open_one: Receiver) -> None:
    with open_one.connect() as client:
        stream = client.begin()
        for byte in framed(export_message("e" * 32, SPAN)):
            client.send(stream, bytes([byte]), is_last=False)
        client.send(stream, b"")
        assert client.reply(stream).code == OK


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (b"", INVALID_ARGUMENT, "expected one message, and it is not whole"),
        (b"\0\0\0", INVALID_ARGUMENT, "expected one message, and it is not whole"),
        (framed(b"1234")[:-1], INVALID_ARGUMENT, "expected one message, and it is not whole"),
        (framed(b"") * 2, INVALID_ARGUMENT, "expected one message, got more"),
        (b"\2\0\0\0\0", INVALID_ARGUMENT, "expected a message, which begins with 0 or 1, got 2"),
        (framed(b"\xff\xff"), INVALID_ARGUMENT, ""),
        (b"\0\xff\xff\xff\xff", RESOURCE_EXHAUSTED, "the message is larger than 20971520 bytes"),
    ],
)
def test_a_body_that_is_not_one_message_is_rejected(open_one: Receiver, body: bytes, code: int, text: str) -> None:
    with open_one.connect() as client:
        stream = client.begin()
        client.send(stream, body)
        reply = client.reply(stream)
        assert (reply.code, reply.message) == (code, None)
        assert text in reply.text
        assert client.call(b"").code == OK


def test_too_large_a_message_is_final_and_no_reason_to_try_again(receive: Callable[..., Receiver]) -> None:
    with receive("--max-ingest-body-bytes", "1000").connect() as client:
        assert client.call(export_message("a" * 32, SPAN, text="x" * 500)).code == OK
        reply = client.call(export_message("a" * 32, SPAN, text="x" * 5_000))
    assert reply.code == RESOURCE_EXHAUSTED
    assert "grpc-status-details-bin" not in reply.headers


def test_a_full_service_says_when_to_try_again(receive: Callable[..., Receiver]) -> None:
    with receive("--ingest-buffer-bytes", "1000").connect() as client:
        reply = client.call(export_message("a" * 32, SPAN, text="x" * 9_000))
    assert reply.code == UNAVAILABLE == reply.status.code
    assert reply.text == reply.status.message
    (detail,) = reply.status.details
    found = RetryInfo()
    assert detail.Unpack(found)
    assert found.retry_delay.seconds == 1


def test_an_unknown_compression_is_unimplemented_and_those_known_are_said(open_one: Receiver) -> None:
    with open_one.connect() as client:
        reply = client.call(b"12345", compression="zstd")
    assert reply.code == UNIMPLEMENTED
    assert reply.headers["grpc-accept-encoding"] == "identity,deflate,gzip"


@pytest.mark.parametrize("path", ["/", "/nope", EXPORT + "/", EXPORT.replace("trace", "profile"), "/v1/traces"])
def test_an_unknown_method_is_unimplemented(open_one: Receiver, path: str) -> None:
    with open_one.connect() as client:
        reply = client.call(b"", path=path)
    assert reply.code == UNIMPLEMENTED
    assert reply.text == f"there is no method `{path}`"


def test_the_store_is_named_by_metadata(receive: Callable[..., Receiver], tmp_path: Path) -> None:
    receiver = receive("--store", f"first={tmp_path / 'first'}", "--store", f"second={tmp_path / 'second'}")
    with receiver.connect() as client:
        assert client.call(export_message("a" * 32, SPAN), {"db_id": "second"}).code == OK
        reply = client.call(export_message("a" * 32, SPAN), {"db_id": "third"})
    assert (reply.code, reply.text) == (NOT_FOUND, "No database found with id 'third'")
    found = receiver.service.http.post("/traces/search", params={"db_id": "second"}, json={}).json()["data"]
    assert [item["trace_id"] for item in found] == ["a" * 32]
    assert receiver.service.trace_ids() == []


def test_a_request_that_is_not_grpc_is_unsupported(open_one: Receiver) -> None:
    with open_one.connect() as client:
        stream = client.begin(metadata={"content-type": "application/json"})
        client.send(stream, b"{}")
        assert client.reply(stream).headers[":status"] == "415"


def test_a_client_of_http_1_learns_what_the_port_serves(open_one: Receiver) -> None:
    response = httpx.post(f"http://127.0.0.1:{open_one.port}/v1/traces", content=b"{}")
    assert response.status_code == 505
    assert response.text == "this port serves gRPC, which needs HTTP/2\n"


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ({}, UNAUTHENTICATED),
        (bearer("forged"), UNAUTHENTICATED),
        ({"authorization": "Basic cHVibGljOnNlY3JldA=="}, UNAUTHENTICATED),
        (as_caller("reader", "traces:read"), PERMISSION_DENIED),
        (as_caller("writer", "traces:write"), OK),
        (as_admin(), OK),
    ],
)
def test_a_token_is_needed_and_is_read_before_the_message(
    guarded: Receiver, metadata: dict[str, str], code: int
) -> None:
    with guarded.connect() as client:
        stream = client.begin(metadata=metadata)
        if code != OK:
            assert client.reply(stream).code == code
            assert client.reply(client.begin("/nope", metadata)).code in {UNAUTHENTICATED, UNIMPLEMENTED}
        else:
            client.send(stream, framed(export_message("a" * 32, SPAN)))
            assert client.reply(stream).code == OK


def test_calls_are_audited_and_counted(guarded: Receiver) -> None:
    with guarded.connect() as client:
        client.call(b"", as_caller("auditor", "traces:write") | {"x-request-id": "of-grpc"})
        client.call(b"", {"x-request-id": "of-nobody"})
    events = {event["request_id"]: event for event in guarded.service.events() if "decision" in event}
    allowed, denied = events["of-grpc"], events["of-nobody"]
    assert (allowed["sub"], allowed["route"], allowed["decision"]) == ("auditor", EXPORT, "allowed")
    assert (denied.get("sub"), denied["route"], denied["decision"]) == (None, EXPORT, "unauthenticated")
    lines = guarded.service.http.get("/metrics", headers=as_admin()).text.splitlines()
    labels = f'spanwise_http_requests_total{{method="POST",route="{EXPORT}",status='
    assert {line.removeprefix(labels)[1:4] for line in lines if line.startswith(labels)} >= {"200", "401"}


def test_the_health_of_each_service_is_open_to_everyone(guarded: Receiver) -> None:
    known = "opentelemetry.proto.collector.trace.v1.TraceService"
    with guarded.connect() as client:
        for name in ("", known, "grpc.health.v1.Health"):
            reply = client.call(b"\x0a" + bytes([len(name)]) + name.encode() if name else b"", path=CHECK)
            assert (reply.code, reply.message) == (OK, b"\x08\x01")
        assert client.call(b"\x0a\4nope", path=CHECK).code == NOT_FOUND
        assert client.call(b"\x0a\x7fnope", path=CHECK).code == INVALID_ARGUMENT
        assert client.call(b"x" * 2000, path=CHECK).code == RESOURCE_EXHAUSTED


def test_a_shutdown_finishes_calls_under_way_and_ends_the_connections(
    receive: Callable[..., Receiver], start: Callable[..., object]
) -> None:
    receiver = receive()
    with receiver.connect() as client, receiver.connect() as idle:
        message = framed(export_message("a" * 32, SPAN, text="x" * 1000))
        assert idle.call(b"").code == OK
        stream = client.begin()
        client.send(stream, message[:100], is_last=False)
        receiver.service.process.terminate()
        idle.wait_until_closed()
        assert idle.goaway == 0
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", receiver.port))
        client.send(stream, message[100:])
        assert client.reply(stream).code == OK
        client.wait_until_closed()
    assert receiver.service.process.wait(15) == 0
    reopened = start()
    assert isinstance(reopened, RunningService)
    assert reopened.trace_ids() == ["a" * 32]


def test_an_idle_service_ends_at_once(receive: Callable[..., Receiver]) -> None:
    receiver = receive("--drain-seconds", "600")
    with receiver.connect() as client:
        assert client.call(b"").code == OK
        assert receiver.service.stop() == 0
