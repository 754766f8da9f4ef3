"""No log line contains tokens from the paths, queries or headers of requests, on any port and at any level."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from support.clients.forged_tokens import forge
from support.clients.grpc import GrpcClient
from support.clients.tokens import jwks_file
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "hunter2-Zk9"  # noqa: S105  # a test value
PATHS = (
    "/traces?access_token={}",
    "/path%3Faccess_token={}",
    "/Bearer%20{}",
    "/bearer/{}",
    "/token/{}",
    "/http://ann:{}@host/v1/traces",
    "/ann:{}@host",
    "/agents/Bearer%20{}/runs",
    "/sessions/api_key={}",
    "/v1/traces?api_key={}",
    "/traces/search?password={}",
    "/sessions?access_token={}",
)


@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize("authorization", [True, False])
def test_no_request_writes_its_token_into_the_log(tmp_path: Path, log_format: str, *, authorization: bool) -> None:
    otlp_port, grpc_port = free_port(), free_port()
    flags = ("--log-level", "debug", "--log-format", log_format, *(["--authorization"] if authorization else []))
    variables: dict[str, Any] = {"SPANWISE_OTLP_HTTP_PORT": str(otlp_port), "SPANWISE_OTLP_GRPC_PORT": str(grpc_port)}
    if authorization:
        variables["JWT_JWKS_FILE"] = jwks_file(tmp_path)
    token = forge()
    with RunningService(tmp_path / "data", *flags, **variables) as service:
        for path in (each.replace("{}", secret) for each in PATHS for secret in (SECRET, token)):
            for base in (service.url, f"http://127.0.0.1:{otlp_port}"):
                for method, headers in (("GET", {}), ("POST", {"content-type": "application/x-protobuf"})):
                    httpx.request(method, base + path, headers={**headers, "x-request-id": token[:128]})
        with GrpcClient(grpc_port) as client:
            for path in ("/Bearer/{}", "/path?access_token={}"):
                client.call(b"", path=path.format(SECRET))
        for target in (f"/workflows/ws?token={SECRET}", f"/workflows/Bearer%20{SECRET}/ws", f"/Bearer%20{SECRET}"):
            handshake(service.port, target)
        assert service.stop() == 0
        log = service.log.read_text()
    assert "GET" in log
    assert "[token]" in log
    assert SECRET not in log
    for part in token.split("."):
        assert part[:40] not in log
    if log_format == "json":
        assert all(json.loads(line) for line in log.splitlines())


def handshake(port: int, target: str) -> None:
    """Requests a WebSocket handshake. The service may reject it."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(
            f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        connection.recv(4096)
