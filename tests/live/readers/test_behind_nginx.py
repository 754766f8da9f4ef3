"""A writer and two readers behind the nginx of `deploy/readers`: one address that survives the loss of any of them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import httpx

from support.clients.otlp import export_request
from support.paths import ROOT
from support.servers import nginx
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = (ROOT / "deploy" / "readers" / "nginx.conf").read_text("utf-8")
JSON = {"Content-Type": "application/json"}
FIRST, SECOND = "1" * 32, "2" * 32
DELETED = {"filter": {"op": "EQ", "key": "trace_id", "value": FIRST}}


def export(client: httpx.Client, trace_id: str) -> httpx.Response:
    return client.post("/v1/traces", content=export_request(trace_id, "00000000000000a1"), headers=JSON)


def found(client: httpx.Client) -> set[str]:
    answer = client.post("/traces/search", json={}).raise_for_status()
    return {trace["trace_id"] for trace in answer.json()["data"]}


def test_one_address_goes_on_when_a_reader_or_the_writer_is_gone(tmp_path: Path) -> None:
    data_dir = ("--data-dir", str(tmp_path / "data"))
    with ExitStack() as stack:

        def start(name: str, *flags: str) -> RunningService:
            return stack.enter_context(RunningService(tmp_path / name, *data_dir, *flags))

        writer = start("writer")
        readers = [start(name, "--reader") for name in ("reader-1", "reader-2")]
        port = free_port()
        configuration = CONFIGURATION
        for printed, here in {
            "writer:7777": f"127.0.0.1:{writer.port}",
            "reader-1:7777": f"127.0.0.1:{readers[0].port}",
            "reader-2:7777": f"127.0.0.1:{readers[1].port}",
            "listen 7777": f"listen 127.0.0.1:{port}",
        }.items():
            assert printed in configuration
            configuration = configuration.replace(printed, here)
        url = f"http://127.0.0.1:{port}"
        stack.enter_context(nginx.running(tmp_path, configuration, f"{url}/health"))
        client = stack.enter_context(httpx.Client(base_url=url, timeout=30))

        assert export(client, FIRST).status_code == 200
        for reader in readers:
            reader.wait_until_found(FIRST)
        capabilities = client.get("/info").json()["capabilities"]
        assert capabilities == readers[0].http.get("/info").json()["capabilities"]
        assert capabilities != writer.http.get("/info").json()["capabilities"]

        readers[0].kill()
        for _ in range(20):
            assert found(client) == {FIRST}
        assert export(client, SECOND).status_code == 200
        assert client.post("/traces/delete", json=DELETED).json()["deleted"] == 1
        readers[1].wait_until_found(SECOND)

        writer.kill()
        for _ in range(20):
            assert found(client) == {SECOND}
        assert export(client, FIRST).status_code == 502
        assert found(client) == {SECOND}
