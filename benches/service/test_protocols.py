"""Durable spans per second of the same protobuf requests over HTTP and over gRPC, from one client and from eight."""

from __future__ import annotations

import json
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from http.client import HTTPConnection
from itertools import count
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import grpc
import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanwise.demo import export_requests
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
ROUNDS = 5
TRACES = 800
"""Traces per round: about 7,000 spans in 35 requests."""


class Sender(Protocol):
    """A client with one connection."""

    def send(self, body: bytes) -> bytes:
        """Sends one request, and returns the OTLP response."""

    def close(self) -> None:
        """Closes the connection."""


class HttpSender:
    """Sends over HTTP."""

    headers: ClassVar[dict[str, str]] = {"Content-Type": "application/x-protobuf"}

    def __init__(self, service: RunningService, _grpc_port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", service.port)

    def send(self, body: bytes) -> bytes:
        self._connection.request("POST", "/v1/traces", body, self.headers)
        response = self._connection.getresponse()
        text = response.read()
        assert response.status == 200, text
        return text

    def close(self) -> None:
        self._connection.close()


class GrpcSender:
    """Sends over gRPC."""

    def __init__(self, _service: RunningService, grpc_port: int) -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]
        self._channel = grpc.insecure_channel(f"127.0.0.1:{grpc_port}", options)
        self._call = self._channel.unary_unary(EXPORT)

    def send(self, body: bytes) -> bytes:
        found: bytes = self._call(body)
        return found

    def close(self) -> None:
        self._channel.close()


SENDERS: dict[str, type[HttpSender | GrpcSender]] = {"HTTP": HttpSender, "gRPC": GrpcSender}


class Clients:
    """Several concurrent clients."""

    def __init__(self, senders: list[Sender]) -> None:
        self._senders = senders
        self._threads = ThreadPoolExecutor(len(senders))
        self._free: SimpleQueue[Sender] = SimpleQueue()
        for sender in senders:
            self._free.put(sender)

    def send(self, bodies: list[bytes]) -> None:
        """Sends all bodies, and returns when all of them are acknowledged."""
        for response in self._threads.map(self._send, bodies):
            assert response == b"", response

    def _send(self, body: bytes) -> bytes:
        sender = self._free.get()
        response = sender.send(body)
        self._free.put(sender)
        return response

    def close(self) -> None:
        self._threads.shutdown()
        for sender in self._senders:
            sender.close()


def as_protobuf(body: bytes) -> bytes:
    """Returns an OTLP/JSON request as protobuf. OTLP/JSON has hexadecimal ids, but JSON of protobuf has base64."""
    request: dict[str, Any] = json.loads(body)
    scopes = [scope for resource in request["resourceSpans"] for scope in resource["scopeSpans"]]
    for span in [span for scope in scopes for span in scope["spans"]]:
        for each in (span, *span.get("links", ())):
            for name in {"traceId", "spanId", "parentSpanId"} & each.keys():
                each[name] = b64encode(bytes.fromhex(each[name])).decode()
    found: bytes = ParseDict(request, ExportTraceServiceRequest()).SerializeToString()
    return found


@pytest.fixture
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningService, int]]:
    """A server with an empty store, and its gRPC port."""
    port = free_port()
    with RunningService(tmp_path_factory.mktemp("ingest") / "data", "--otlp-grpc-port", str(port)) as running:
        yield running, port


@pytest.mark.parametrize("protocol", SENDERS)
@pytest.mark.parametrize("clients", [1, 8])
def test_ingest(clients: int, protocol: str, receiver: tuple[RunningService, int], benchmark: BenchmarkFixture) -> None:
    seeds = count(1)
    spans: list[int] = []

    def draw() -> tuple[tuple[list[bytes]], dict[str, object]]:
        """Returns new traces for each round, because known ones are cheaper."""
        sent = list(export_requests(TRACES, next(seeds), NOW))
        spans.append(sum(export.spans for export in sent))
        return ([as_protobuf(export.body) for export in sent],), {}

    benchmark.group = f"{clients} clients"
    with closing(Clients([SENDERS[protocol](*receiver) for _ in range(clients)])) as senders:
        benchmark.pedantic(senders.send, setup=draw, rounds=ROUNDS, warmup_rounds=1)
    assert receiver[0].search(limit=1).json()["meta"]["total_count"] == TRACES * len(spans)
    timed = spans[-ROUNDS:]
    benchmark.extra_info["spans"] = sum(timed) / len(timed)
    if benchmark.stats:
        benchmark.extra_info["spans_per_second"] = round(sum(timed) / benchmark.stats.stats.total)
