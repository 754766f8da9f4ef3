"""One caller takes at most its share of a budget, and others are served at the same time."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from support.clients.otlp import export_request
from support.clients.tokens import as_admin, as_caller, jwks_file
from support.services.hosted import start_hosted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.services.process import RunningService

MEBIBYTE = 1024 * 1024
SCOPES = ("agents:run", "traces:read", "traces:write")
FLAGS = ("--max-event-streams", "8", "--max-concurrent-runs", "12", "--response-buffer-bytes", str(16 * MEBIBYTE))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("shared")
    with start_hosted(folder, "--authorization", *FLAGS, JWT_JWKS_FILE=jwks_file(folder)) as service:
        yield service
        assert service.stop() == 0


def request(service: RunningService, method: str, path: str, sub: str, body: bytes = b"") -> socket.socket:
    """Sends a request and does not read its response."""
    connection = socket.socket()
    connection.settimeout(20)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", service.port))
    headers = {
        "Host": "localhost",
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Length": str(len(body)),
        "Accept-Encoding": "identity",
        **as_caller(sub, *SCOPES),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    connection.sendall(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
    return connection


def status(connection: socket.socket) -> int:
    return int(connection.recv(12).split()[1])


def statuses(  # noqa: PLR0913, PLR0917  # the request and its count
    service: RunningService, opened: ExitStack, count: int, method: str, path: str, sub: str, body: bytes = b""
) -> list[int]:
    """Sends equal requests one by one, reads the first bytes of each response, and keeps all connections open."""
    return [status(opened.enter_context(request(service, method, path, sub, body))) for _ in range(count)]


def test_streams(guarded: RunningService) -> None:
    with ExitStack() as opened:
        asked = "POST", "/agents/slow/runs"
        found = statuses(guarded, opened, 8, *asked, "greedy", b"message=x")
        assert found == [200] * 6 + [503] * 2
        assert statuses(guarded, opened, 1, *asked, "modest", b"message=x") == [200]


def test_runs(guarded: RunningService) -> None:
    with ExitStack() as opened:
        asked = "POST", "/agents/slow/runs"
        background = b"message=x&stream=false&background=true"
        found = statuses(guarded, opened, 12, *asked, "busy", background)
        assert found.count(202) in range(1, 10)
        assert found[-1] == 503
        assert statuses(guarded, opened, 1, *asked, "calm", background) == [202]


def test_exports_and_responses_that_wait(guarded: RunningService) -> None:
    for number in range(4):
        text = chr(65 + number) * (3 * MEBIBYTE)
        export = export_request(f"{number + 1:032x}", "b" * 16, text=text, **{"user.id": "idle"})
        headers = {"Content-Type": "application/json", **as_admin()}
        guarded.http.post("/v1/traces", content=export, headers=headers).raise_for_status()
    with ExitStack() as opened:
        found = statuses(guarded, opened, 8, "GET", "/traces/export?format=ndjson", "idle")
        assert found.count(200) in range(1, 7)
        assert found[-1] == 503
        for _ in range(20):
            searched = guarded.http.post("/traces/search", json={}, headers=as_caller("eager", *SCOPES))
            assert searched.status_code == 200, searched.text
        assert statuses(guarded, opened, 1, "GET", "/traces/export?format=ndjson", "eager") == [200]


def test_inputs_of_runs(tmp_path: Path) -> None:
    """A waiting run holds its message. Three of these exceed the caller's share."""
    flags = ("--authorization", "--event-buffer-bytes", "100000", "--max-form-body-bytes", "31000")
    asked = "POST", "/agents/stubborn/runs"
    body = b"stream=false&background=true&message="
    with start_hosted(tmp_path, *flags, JWT_JWKS_FILE=jwks_file(tmp_path)) as service, ExitStack() as opened:
        assert statuses(service, opened, 3, *asked, "greedy", body + b"x" * 30_000) == [202, 202, 503]
        assert statuses(service, opened, 1, *asked, "modest", body + b"x") == [202]


def test_states_of_sessions_of_runs(tmp_path: Path) -> None:
    """Each run has a copy of its session's state. The size is known once the state is read."""
    flags = ("--authorization", "--event-buffer-bytes", "100000", "--max-form-body-bytes", "31000")
    first = b'stream=false&message=x&session_id=large&session_state={"a":"' + b"x" * 30_000 + b'"}'
    later = b"stream=false&background=true&message=x&session_id=large"
    with start_hosted(tmp_path, *flags, JWT_JWKS_FILE=jwks_file(tmp_path)) as service, ExitStack() as opened:
        assert statuses(service, opened, 1, "POST", "/agents/echo/runs", "greedy", first) == [200]
        found = statuses(service, opened, 4, "POST", "/agents/stubborn/runs", "greedy", later)
        assert found == [202, 202, 202, 503]


def test_events_of_runs(tmp_path: Path) -> None:
    """A run of `slow` holds its message and one event. The budget has room for small ones."""
    flags = ("--authorization", "--event-buffer-bytes", "80000", "--max-form-body-bytes", "31000")
    background = b"stream=false&background=true&message="
    asked = "POST", "/agents/slow/runs"
    with start_hosted(tmp_path, *flags, JWT_JWKS_FILE=jwks_file(tmp_path)) as service, ExitStack() as opened:
        assert statuses(service, opened, 1, *asked, "greedy", background + b"x" * 30_000) == [202]
        until = time.monotonic() + 30
        while statuses(service, opened, 1, *asked, "greedy", background + b"x") == [202]:
            assert time.monotonic() < until, "the run never had its event"
        while statuses(service, opened, 1, *asked, "modest", background + b"x") == [503]:
            assert time.monotonic() < until, "an event counts twice until it is stored, and no longer"
        assert statuses(service, opened, 3, *asked, "greedy", background + b"x") == [503] * 3
        assert statuses(service, opened, 3, *asked, "modest", background + b"x") == [202] * 3
        assert service.stop() == 0
