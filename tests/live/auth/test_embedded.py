"""A service mounted in a FastAPI, Starlette or Litestar program: access to runs over HTTP and WebSockets."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import InvalidStatus

from support.clients.grpc import CHECK, EXPORT, UNAUTHENTICATED
from support.clients.websocket import open_websocket
from support.documents import blocks_of
from support.paths import ROOT
from support.programs import environment
from support.services.embedding import start_embedding
from support.services.process import RunningService, free_port
from support.services.receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

    from support.services.embedding import EmbeddingProgram

FRAMEWORKS = ("fastapi", "starlette", "litestar")
HOSTING, *PROGRAMS = [
    block.text for block in blocks_of(ROOT / "docs" / "how-to" / "embed.md") if block.language == "python"
]
PAGES = dict(zip(FRAMEWORKS, PROGRAMS, strict=True))
SOCKETS = ("/workflows/ws", "/workflows/shout/ws")
RUNS = "/workflows/shout/runs"
SESSION = "alice's"


def cookie(user: str) -> dict[str, str]:
    return {"Cookie": f"session=cookie-of-{user}"}


def run(program: EmbeddingProgram, headers: dict[str, str]) -> httpx.Response:
    form = {"message": "secret", "stream": "false", "session_id": SESSION}
    return program.http.post(RUNS, data=form, headers=headers)


def runs_in(program: EmbeddingProgram, user: str) -> list[Any]:
    """Returns the runs of a user in the session named after them."""
    found: list[Any] = program.http.get(f"/sessions/{SESSION}/runs", headers=cookie(user)).raise_for_status().json()
    return found


@pytest.fixture(scope="module", params=FRAMEWORKS)
def with_http_middleware(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddingProgram]:
    """A program that verifies requests, but not WebSockets."""
    application = f"support.apps.http_middleware:in_{request.param}"
    folder, path = tmp_path_factory.mktemp("http"), environment()["PYTHONPATH"]
    with start_embedding(folder, application, PYTHONPATH=path) as program:
        yield program
        assert program.stop() == 0


@pytest.fixture(scope="module", params=FRAMEWORKS)
def as_the_page_says(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddingProgram]:
    """The program in the guide."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "hosting.py").write_text(HOSTING, "utf-8")
    (folder / "program.py").write_text(PAGES[request.param], "utf-8")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    with start_embedding(folder, "program:app", PYTHONPATH=path) as program:
        yield program
        assert program.stop() == 0


@pytest.mark.parametrize("path", SOCKETS)
def test_a_socket_without_a_user_neither_reads_a_run_nor_starts_one(
    with_http_middleware: EmbeddingProgram, path: str
) -> None:
    program = with_http_middleware
    ran = run(program, cookie("alice"))
    assert ran.status_code == 200, ran.text
    before = runs_in(program, "alice")
    attacks = {
        "reconnect": {"run_id": ran.json()["run_id"]},
        "start-workflow": {"workflow_id": "shout", "message": "m", "session_id": SESSION, "user_id": "alice"},
    }
    for headers in ({}, cookie("mallory"), cookie("alice")):  # no middleware identifies the user of a socket here
        for action, members in attacks.items():
            with pytest.raises(InvalidStatus) as rejected, open_websocket(program, path, headers) as socket:
                socket.request(action, **members)
            assert rejected.value.response.status_code == 401
            assert json.loads(rejected.value.response.body)["error_code"] == "UNAUTHENTICATED"
    assert runs_in(program, "alice") == before


def test_a_request_without_a_user_is_401(with_http_middleware: EmbeddingProgram) -> None:
    program = with_http_middleware
    run_id = run(program, cookie("alice")).json()["run_id"]
    for headers in ({}, cookie("mallory"), {"Authorization": "Bearer alice"}):
        assert run(program, headers).status_code == 401
        for path in (f"{RUNS}/{run_id}", "/sessions", "/traces", "/config", "/nope"):
            assert program.http.get(path, headers=headers).status_code == 401, path
        assert program.http.get("/health", headers=headers).status_code == 200
        assert program.http.get("/info", headers=headers).json()["authenticated"] is False
    assert program.http.get(f"{RUNS}/{run_id}", headers=cookie("bob")).status_code == 404
    assert program.http.get(f"{RUNS}/{run_id}", headers=cookie("alice")).status_code == 200


def test_the_middleware_of_the_page_covers_sockets(as_the_page_says: EmbeddingProgram) -> None:
    program = as_the_page_says
    run_id = run(program, cookie("alice")).json()["run_id"]
    with open_websocket(program, headers=cookie("alice")) as socket:
        assert socket.greeting["requires_auth"] is False
        socket.send("reconnect", run_id=run_id)
        assert "SECRET" in json.dumps(socket.receive_until_end())
        started = socket.run(workflow_id="shout", message="again", session_id=SESSION)
        assert started[-1]["event"] == "WorkflowCompleted"
    assert len(runs_in(program, "alice")) == 2
    with open_websocket(program, headers=cookie("bob")) as socket:
        assert "not found" in socket.request("reconnect", run_id=run_id)["error"]
        stolen = socket.run(workflow_id="shout", message="m", session_id=SESSION, user_id="alice")
        assert stolen[-1]["event"] == "WorkflowCompleted"
    assert (len(runs_in(program, "alice")), len(runs_in(program, "bob"))) == (2, 1)
    for path in SOCKETS:
        with pytest.raises(InvalidStatus) as rejected, open_websocket(program, path):
            pass
        assert rejected.value.response.status_code == 401


def test_the_page_and_its_files_are_below_the_mount(as_the_page_says: EmbeddingProgram) -> None:
    http = as_the_page_says.http
    assert http.get("/ui").status_code == 200
    assert http.get("/traces").status_code == 401
    assert http.get("/traces", headers=cookie("alice")).status_code == 200


def test_every_port_of_an_own_server_rejects_callers_without_a_user(tmp_path: Path) -> None:
    http_port, grpc_port = free_port(), free_port()
    ports = ("--otlp-http-port", str(http_port), "--otlp-grpc-port", str(grpc_port))
    with RunningService(tmp_path / "data", "--callers", "verified", *ports) as service:
        for url in (service.url, f"http://127.0.0.1:{http_port}"):
            assert service.http.post(f"{url}/v1/traces", json={"resourceSpans": []}).status_code == 401
        receiver = Receiver(service, grpc_port)
        with receiver.connect() as client:
            assert client.call(b"", path=EXPORT).code == UNAUTHENTICATED
            assert client.call(b"", path=CHECK).code == 0
        with pytest.raises(InvalidStatus) as rejected, open_websocket(service):
            pass
        assert rejected.value.response.status_code == 401
        texts = [event["message"] for event in service.events()]
        assert any(text.startswith("callers: verified: no program mounts") for text in texts)
        assert service.stop() == 0
