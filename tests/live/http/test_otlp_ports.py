"""The default ports of OpenTelemetry exporters, in addition to the port of the service."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, ClassVar

import httpx
import pytest

from spanwise.settings.otlp import GRPC_PORT, HTTP_PORT
from support.clients.otlp import export_request
from support.clients.tokens import as_caller, jwks_file
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

JSON = {"Content-Type": "application/json"}


class DefaultService(RunningService):
    """A service that listens on the exporters' default ports."""

    default_ports: ClassVar[dict[str, str]] = {}


def messages(service: RunningService) -> list[str]:
    return [event["message"] for event in service.events()]


def test_exporters_and_probes_are_served_and_nobody_else(start: Callable[..., RunningService]) -> None:
    port = free_port()
    service = start("--otlp-http-port", str(port))
    with httpx.Client(base_url=f"http://127.0.0.1:{port}") as exporter:
        for path, trace_id in (("/v1/traces", "a" * 32), ("/api/public/otel/v1/traces", "c" * 32)):
            sent = exporter.post(path, content=export_request(trace_id, "b" * 16), headers=JSON)
            assert sent.status_code == 200
        assert exporter.get("/health", params={"ready": "true"}).status_code == 200
        for path in ("/", "/traces", "/info", "/docs", "/metrics", "/openapi.json", "/agents"):
            assert exporter.get(path).json() == {"detail": "Not Found", "error_code": "NOT_FOUND"}
        assert exporter.post("/traces/search", json={}).status_code == 404
    assert set(service.trace_ids()) == {"a" * 32, "c" * 32}
    assert f"listening for OTLP over HTTP on http://127.0.0.1:{port}" in messages(service)
    assert service.stop() == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/health")


def test_nothing_listens_for_exporters_where_both_are_off(start: Callable[..., RunningService]) -> None:
    service = start("--otlp-http-port", "0", "--otlp-grpc-port", "0")
    assert [text for text in messages(service) if text.startswith("listening")] == [f"listening on {service.url}"]


def test_a_default_port_in_use_is_a_warning(tmp_path: Path) -> None:
    """The test passes no matter which program holds the ports."""
    with contextlib.ExitStack() as opened:
        for port in (HTTP_PORT, GRPC_PORT):
            other = opened.enter_context(socket.socket())
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                other.bind(("127.0.0.1", port))
                other.listen()
        service = opened.enter_context(DefaultService(tmp_path / "data"))
        found = {event["message"] for event in service.events() if event["level"] == "warning"}
        for name, port in (("otlp_http_port", HTTP_PORT), ("otlp_grpc_port", GRPC_PORT)):
            (text,) = (text for text in found if f"127.0.0.1:{port}" in text)
            assert text.startswith(f"cannot listen on 127.0.0.1:{port}: Address already in use; ")
            assert f"`{name}`" in text
        assert service.search().status_code == 200


@pytest.mark.parametrize("name", ["otlp_http_port", "otlp_grpc_port"])
def test_a_port_in_use_that_was_set_is_rejected(name: str, tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        flag = "--" + name.replace("_", "-")
        with RunningService(tmp_path / "data", flag, str(port), is_ready=False) as service:
            assert service.process.wait(15) == 1
            expected = f"setting `{name}`: cannot listen on 127.0.0.1:{port}: Address already in use"
            assert expected in service.log.read_text()


def test_the_password_of_langfuse_is_a_token(tmp_path: Path) -> None:
    token = as_caller("sender", "traces:write")["Authorization"].removeprefix("Bearer ")
    body = export_request("a" * 32, "b" * 16)
    langfuse = "/api/public/otel/v1/traces"
    with RunningService(tmp_path / "data", "--authorization", JWT_JWKS_FILE=jwks_file(tmp_path)) as service:

        def send(path: str, user: str, password: str) -> int:
            return service.http.post(path, content=body, headers=JSON, auth=(user, password)).status_code

        assert send(langfuse, "pk-lf-1", token) == 200
        assert send(langfuse, "", token) == 200
        assert send(langfuse, token, "secret") == 401
        assert send("/v1/traces", "pk-lf-1", token) == 401
        assert service.http.get("/traces", auth=("pk-lf-1", token)).status_code == 401
        for text in ("Basic", "Basic %", "Basic " + "/" * 10, f"Basic {token}"):
            headers = JSON | {"Authorization": text}
            assert service.http.post(langfuse, content=body, headers=headers).status_code == 401
        assert service.http.post(langfuse, content=body, headers=JSON).status_code == 401
        assert service.http.post(langfuse, content=body, headers=JSON | {"Authorization": f"Bearer {token}"}).is_success
