"""A service over a file with damaged rows: they are marked and can be deleted, and all other rows are served."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from support.services.hosted import run, run_events, start_hosted

if TYPE_CHECKING:
    from pathlib import Path


def test_damaged_rows_are_marked_in_every_response(tmp_path: Path) -> None:
    with start_hosted(tmp_path) as before:
        runs = [run(before, "agents/echo", session_id="first").json()["run_id"] for _ in range(2)]
        run(before, "agents/echo", session_id="second").raise_for_status()
        assert before.stop() == 0
    with closing(sqlite3.connect(tmp_path / "data" / "runs.db")) as connection, connection:
        connection.execute("UPDATE sessions SET metadata = x'7b' WHERE session_id = 'first'")
        connection.execute("UPDATE runs SET result = substr(result, 1, 9) WHERE run_id = ?", [runs[0]])
        connection.execute("UPDATE events SET body = 7 WHERE run_id = ? AND position = 1", [runs[1]])
    with start_hosted(tmp_path) as service:
        http = service.http
        listed = http.get("/sessions").json()
        assert {each["session_id"]: each.get("damaged", False) for each in listed["data"]} == {
            "first": True,
            "second": False,
        }
        assert listed["meta"]["total_count"] == 2
        detail = http.get("/sessions/first").json()
        assert detail["damaged"]
        assert detail["chat_history"][0]["content"] == "the stored run is damaged"
        assert len(detail["chat_history"]) == 3
        for path in ("/sessions/first/runs", "/sessions/first/run-previews", "/agents/echo/runs?session_id=first"):
            found = http.get(path).json()
            assert [(each["run_id"], each.get("damaged")) for each in found] == [(runs[0], True), (runs[1], None)], path
        for path in (f"/sessions/first/runs/{runs[0]}", f"/agents/echo/runs/{runs[0]}"):
            single = http.get(path)
            assert (single.status_code, single.json()["damaged"], single.json()["status"]) == (200, True, "ERROR")
        with http.stream("POST", f"/agents/echo/runs/{runs[1]}/resume") as response:
            events = list(run_events(response))
        assert [each["event"] for each in events][:2] == ["RunStarted", "Damaged"]
        assert [each["event_index"] for each in events] == list(range(len(events)))
        assert run(service, "agents/echo", session_id="first").json()["error_code"] == "DAMAGED"
        assert run(service, "agents/echo", session_id="second").status_code == 200
        assert http.delete("/sessions/first").status_code == 204
        assert [each["session_id"] for each in http.get("/sessions").json()["data"]] == ["second"]
        log = service.log.read_text()
        assert f"`{runs[0]}`; it is marked in responses" in log
        assert "Traceback" not in log
