"""The nginx configuration of the guide, in front of a service with authorization."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import httpx

from support.certificates import write_certificate
from support.clients.grpc import OK, GrpcClient, export_message
from support.clients.otlp import export_request
from support.clients.tokens import as_admin, jwks_file
from support.documents import blocks_of
from support.paths import ROOT
from support.servers import nginx
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from pathlib import Path

(PRINTED,) = (block.text for block in blocks_of(ROOT / "docs" / "how-to" / "nginx.md") if block.language == "nginx")


def test_nginx_ends_tls_before_a_service_as_the_guide_says(tmp_path: Path) -> None:
    certificate, key = write_certificate(tmp_path)
    grpc, https, grpcs = free_port(), free_port(), free_port()
    flags = ("--authorization", "--otlp-grpc-port", str(grpc))
    context = ssl.create_default_context(cafile=certificate)
    with RunningService(tmp_path / "data", *flags, JWT_JWKS_FILE=jwks_file(tmp_path)) as service:
        configuration = PRINTED
        for printed, here in {
            "127.0.0.1:7777": f"127.0.0.1:{service.port}",
            "127.0.0.1:4317": f"127.0.0.1:{grpc}",
            "listen 443": f"listen 127.0.0.1:{https}",
            "listen 4317": f"listen 127.0.0.1:{grpcs}",
            "/etc/nginx/tls/traces.pem": certificate,
            "/etc/nginx/tls/traces.key": key,
        }.items():
            assert printed in configuration
            configuration = configuration.replace(printed, here)
        url = f"https://localhost:{https}"
        with (
            nginx.running(tmp_path, configuration, f"{url}/health"),
            httpx.Client(base_url=url, verify=context, timeout=30) as client,
        ):
            assert client.get("/traces").status_code == 401
            json_body = {"Content-Type": "application/json"}
            body = export_request("a" * 32, "b" * 16)
            sent = client.post("/v1/traces", content=body, headers=as_admin() | json_body)
            assert sent.status_code == 200
            context.set_alpn_protocols(["h2"])
            with GrpcClient(grpcs, context) as exporter:
                message = export_message("c" * 32, "d" * 16)
                metadata = {name.lower(): value for name, value in as_admin().items()}
                assert exporter.call(message, metadata).code == OK
            found = client.post("/traces/search", json={}, headers=as_admin()).json()["data"]
            assert {trace["trace_id"] for trace in found} == {"a" * 32, "c" * 32}
            assert "<title>" in client.get("/ui").text
        assert service.stop() == 0
