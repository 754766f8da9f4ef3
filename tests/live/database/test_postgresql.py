"""A service with sessions and runs in PostgreSQL."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from spanwise.database import faults
from support.servers import postgresql
from support.services.hosted import run, run_events, start_hosted
from support.services.process import RunningService

if TYPE_CHECKING:
    from pathlib import Path


def test_runs_survive_a_crash_on_a_server(tmp_path: Path, postgresql_server: postgresql.PostgresqlServer) -> None:
    secret = tmp_path / "address"
    secret.write_text(postgresql_server.create_database(), "utf-8")
    flags = ("--database-url-file", str(secret))
    with start_hosted(tmp_path, *flags) as before:
        done = run(before, "agents/weather", "Lisbon", session_id="kept", user_id="ann").json()
        paused = run(before, "agents/asking", "sure", session_id="kept").json()
        begun = run(before, "agents/slow", "x", background="true").json()
        time.sleep(0.2)
        before.kill()
    with start_hosted(tmp_path, *flags) as after:
        assert after.http.get("/sessions/kept").json()["session_state"] == {"asked": 1}
        assert [each["run_id"] for each in after.http.get("/sessions/kept/runs").json()] == [
            done["run_id"],
            paused["run_id"],
        ]
        url = f"/agents/slow/runs/{begun['run_id']}"
        assert after.http.get(url).json()["status"] == "ERROR"
        with after.http.stream("POST", f"{url}/resume") as response:
            assert [event["event"] for event in run_events(response)] == ["RunStarted", "RunContent", "RunError"]
        form = {"tools": '[{"confirmation": "yes"}]', "stream": "false"}
        continued = after.http.post(f"/agents/asking/runs/{paused['run_id']}/continue", data=form)
        assert continued.json()["content"] == "sure: yes"
        assert after.stop() == 0
    assert not (tmp_path / "data" / "runs.db").exists()


def test_a_database_serves_one_service(tmp_path: Path, postgresql_server: postgresql.PostgresqlServer) -> None:
    url = postgresql_server.create_database()
    with RunningService(tmp_path / "first", SPANWISE_DATABASE_URL=url) as first:
        with RunningService(tmp_path / "second", is_ready=False, SPANWISE_DATABASE_URL=url) as second:
            assert second.process.wait(30) == 1
            log = second.log.read_text()
            assert "another process has the database of runs open" in log
        assert first.http.get("/sessions").status_code == 200
        for service in (first, second):
            assert not any(word in service.log.read_text() for word in ("keeper", "secret", "p%40ss", "p@ss"))


def test_without_its_server_runs_are_rejected_until_it_is_back(tmp_path: Path) -> None:
    with (
        postgresql.running() as server,
        start_hosted(tmp_path, SPANWISE_DATABASE_URL=server.create_database()) as service,
    ):
        run(service, "agents/echo", session_id="kept").raise_for_status()
        server.stop("immediate")
        rejected = run(service, "agents/echo", session_id="kept")
        assert (rejected.status_code, rejected.headers["retry-after"]) == (503, "1")
        assert rejected.json()["detail"] == faults.AWAY
        assert service.search(limit=1).status_code == 200
        server.start()
        run(service, "agents/echo", session_id="kept").raise_for_status()
        assert len(service.http.get("/sessions/kept/runs").json()) == 2
