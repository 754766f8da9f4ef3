"""A service whose run database is temporarily unavailable or read-only."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

import httpx

from spanwise.database import faults
from support.clients.grpc import CHECK, OK, GrpcClient
from support.programs import environment
from support.servers import postgresql
from support.services.hosted import run, run_events, start_hosted
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
WAIT_SECONDS = 60


def until(holds: Callable[[], bool]) -> None:
    """Waits until a condition holds."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it never held"
        time.sleep(0.05)


def start(folder: Path, url: str, **variables: str) -> RunningService:
    return start_hosted(folder, module="support.apps.held", SPANWISE_DATABASE_URL=url, **variables)


def readiness(service: RunningService) -> tuple[int, str]:
    response = service.http.get("/health", params={"ready": "true"})
    return response.status_code, response.json().get("detail", "")


def test_readiness_says_that_the_server_is_away_or_read_only_and_recovers(tmp_path: Path) -> None:
    port = free_port()
    with (
        postgresql.running() as server,
        start(tmp_path, server.create_database(), SPANWISE_OTLP_GRPC_PORT=str(port)) as service,
        GrpcClient(port) as grpc,
    ):
        outages: list[tuple[Callable[[], None], Callable[[], None], str]] = [
            (lambda: server.stop("immediate"), server.start, faults.AWAY),
            (server.begin_read_only, server.end_read_only, faults.READ_ONLY_SERVER),
        ]
        for away, back, fault in outages:
            away()
            until(lambda fault=fault: readiness(service) == (503, f"not ready: runs: {fault}"))  # type: ignore[misc]
            assert grpc.call(b"", path=CHECK).message == NOT_SERVING
            rejected = run(service, "agents/asking")
            assert (rejected.status_code, rejected.json()["detail"]) == (503, fault)
            assert rejected.headers["retry-after"] == "1"
            assert service.http.get("/health").status_code == 200
            assert service.search(limit=1).status_code == 200
            back()
            until(lambda: readiness(service)[0] == 200)
            reply = grpc.call(b"", path=CHECK)
            assert (reply.code, reply.message) == (OK, SERVING)
            run(service, "agents/asking").raise_for_status()
        log = service.log.read_text()
        assert log.count(faults.READ_ONLY_SERVER) == 1
        assert "the database of runs answers again" in log
        assert "Traceback" not in log


def begin_held(service: RunningService, go: Path, session_id: str) -> str:
    """Starts a background run that ends once the file `go` exists, and returns its id."""
    begun = run(service, "agents/held", str(go), background="true", session_id=session_id)
    assert begun.status_code == 202
    run_id: str = begun.json()["run_id"]
    return run_id


def status_of(service: RunningService, run_id: str) -> str:
    response = service.http.get(f"/agents/held/runs/{run_id}")
    return str(response.json()["status"]) if response.is_success else str(response.status_code)


def expect_whole(service: RunningService, run_id: str) -> None:
    """Checks that a run is stored with its result and all its events."""
    assert service.http.get(f"/agents/held/runs/{run_id}").json()["content"] == "begun ended"
    with service.http.stream("POST", f"/agents/held/runs/{run_id}/resume") as response:
        events = list(run_events(response))
    names = ["RunStarted", "RunContent", "RunContent", "RunContentCompleted", "RunCompleted"]
    assert [each["event"] for each in events] == names
    assert [each["event_index"] for each in events] == list(range(len(names)))


def test_runs_that_end_while_the_server_is_away_are_completed_when_it_is_back(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with postgresql.running() as server, start(tmp_path, server.create_database()) as service:
        begun = [begin_held(service, go, f"s{number}") for number in range(8)]
        server.stop("immediate")
        go.touch()
        until(lambda: readiness(service)[0] == 503)
        until(lambda: service.log.read_text().count("it is retried") >= len(begun))
        assert status_of(service, begun[0]) == "503"
        server.start()
        until(lambda: {status_of(service, each) for each in begun} == {"COMPLETED"})
        for each in begun:
            expect_whole(service, each)
        assert service.stop() == 0


def test_a_run_that_ends_while_the_file_is_locked_is_completed(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with start_hosted(tmp_path, module="support.apps.held") as service:
        begun = begin_held(service, go, "s")
        other = sqlite3.connect(service.data_dir / "runs.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        go.touch()
        until(lambda: faults.LOCKED in service.log.read_text())
        until(lambda: "it is retried" in service.log.read_text())
        other.close()
        until(lambda: status_of(service, begun) == "COMPLETED")
        expect_whole(service, begun)


def test_a_service_that_ends_while_the_server_is_away_marks_its_runs_at_the_next_start(tmp_path: Path) -> None:
    go = tmp_path / "go"
    with postgresql.running() as server:
        url = server.create_database()
        with start(tmp_path, url) as before:
            begun = begin_held(before, go, "s")
            server.stop("immediate")
            go.touch()
            until(lambda: "it is retried" in before.log.read_text())
            assert before.stop() == 0
            assert "the next start marks it as an error" in before.log.read_text()
        server.start()
        server.begin_read_only()
        with RunningService(
            tmp_path / "data",
            "support.apps.held:service",
            is_ready=False,
            SPANWISE_DATABASE_URL=url,
            PYTHONPATH=environment()["PYTHONPATH"],
        ) as after:
            until(lambda: is_alive(after) and readiness(after)[1] == f"not ready: runs: {faults.READ_ONLY_SERVER}")
            assert status_of(after, begun) == "RUNNING"
            server.end_read_only()
            until(lambda: status_of(after, begun) == "ERROR")
            assert readiness(after)[0] == 200


def is_alive(service: RunningService) -> bool:
    try:
        return service.http.get("/health").is_success
    except httpx.TransportError:
        assert service.process.poll() is None, service.log.read_text()
        return False
