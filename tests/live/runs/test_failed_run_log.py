"""A failed run is one log entry, which its caller can identify."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.services.hosted import run, start_hosted, stream

if TYPE_CHECKING:
    from pathlib import Path


def test_a_failed_run_is_one_entry_under_the_request_id_of_its_response(tmp_path: Path) -> None:
    with start_hosted(tmp_path) as service:
        failed = run(service, "agents/failing")
        assert failed.status_code == 500
        body = failed.json()
        assert body.keys() == {"detail", "error_code", "request_id"}
        assert body["request_id"] == failed.headers["X-Request-ID"]
        assert "secret" not in failed.text
        stream(service, "agents/failing")
        assert service.stop() == 0
        entries = [event for event in service.events() if event["level"] == "error"]
        first, second = entries
        assert first["request_id"] == body["request_id"] != second["request_id"]
        for entry in entries:
            assert entry["logger"] == "spanwise.runs.executor"
            assert entry["traceback"].endswith("ValueError: the secret cause")
