"""A service whose database of runs is away, or read-only, for a while."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from spanwise.database import faults
from support.clients.grpc import CHECK, OK, GrpcClient
from support.servers import postgresql
from support.services.hosted import run, start_hosted
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
