"""Sessions larger than the response budget are sent page by page and charged to their reader."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from spanwise.database import RunRecord, SessionRecord, database_at
from support.clients.tokens import as_caller, jwks_file
from support.services.hosted import start_hosted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.servers.postgresql import PostgresqlServer
    from support.services.process import RunningService

MEBIBYTE = 1024 * 1024
BUDGET = 16 * MEBIBYTE
RUNS = 40
READERS = 6
SCOPES = ("agents:read", "agents:run", "sessions:read", "sessions:write")
PATHS = {
    "session": "/sessions/big",
    "runs": "/sessions/big/runs",
    "previews": "/sessions/big/run-previews",
    "runs of a component": "/agents/echo/runs?session_id=big",
    "list": "/sessions?session_name=wide",
}
"""Reads of 30 MB and more."""


def session(owner: str, session_id: str, **members: Any) -> SessionRecord:
    given: dict[str, Any] = {"state": {}, "metadata": {}} | members
    return SessionRecord(
        session_id=session_id,
        user_id=owner,
        kind="agent",
        component_id="echo",
        name=session_id,
        created_at=1,
        updated_at=1,
        **given,
    )


def run(of: SessionRecord, number: int, text: str) -> RunRecord:
    return RunRecord(
        run_id=f"{of.session_id}-{number}",
        owner=of.key.owner,
        session_id=of.session_id,
        user_id=of.user_id,
        kind="agent",
        component_id="echo",
        status="COMPLETED",
        message=f"question {number}",
        result={"content": text, "metrics": {"total_tokens": 2}, "reasoning_content": None},
        paused=None,
        trace={},
        created_at=number,
        updated_at=number,
    )


def fill(location: str | Path) -> None:
    database = database_at(location)
    database.open()
    big, small, whole = session("ann", "big"), session("eve", "small"), session("ann", "whole")
    for number in range(RUNS):
        database.begin(big, run(big, number, "x" * 768 * 1024))
    for number in range(3):
        database.begin(small, run(small, number, "y"))
    database.begin(whole, run(whole, 0, "z" * BUDGET))
    for number in range(20):
        database.add_session(session("ann", f"wide-{number}", state={"s": "s" * 2 * MEBIBYTE}, metadata={"m": "m"}))
    database.close()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgresql_server: PostgresqlServer
) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("large")
    flags = ["--authorization", "--response-buffer-bytes", str(BUDGET)]
    (folder / "data").mkdir()
    location: str | Path = folder / "data" / "runs.db"
    if request.param == "postgresql":
        location = postgresql_server.create_database()
        flags += ["--database-url", location]
    fill(location)
    with start_hosted(folder, *flags, JWT_JWKS_FILE=jwks_file(folder)) as running:
        yield running
        assert running.stop() == 0


def memory(service: RunningService, name: str) -> int:
    """Returns a memory figure of the process in bytes, such as `VmRSS`, as reported by Linux."""
    lines = Path(f"/proc/{service.process.pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024


def read(service: RunningService, path: str, caller: str = "ann") -> httpx.Response:
    with httpx.Client(base_url=service.url, timeout=120, headers=as_caller(caller, *SCOPES)) as client:
        return client.get(path)


@pytest.mark.parametrize("name", PATHS)
def test_readers_at_once_stay_within_the_budget(service: RunningService, name: str) -> None:
    path = PATHS[name]
    assert read(service, "/sessions/small", "eve").status_code == 200
    Path(f"/proc/{service.process.pid}/clear_refs").write_text("5", "utf-8")  # resets the peak
    before = memory(service, "VmRSS")
    with ThreadPoolExecutor(READERS) as pool:
        reading = [pool.submit(lambda: read(service, path)) for _ in range(READERS)]
        assert len(read(service, "/sessions/small", "eve").json()["chat_history"]) == 6
        found = [each.result() for each in reading]
    assert memory(service, "VmHWM") - before < 3 * BUDGET
    assert {each.status_code for each in found} <= {200, 503}
    for each in found:
        if each.status_code == 503:
            assert "too many response bytes" in each.json()["detail"]
            assert each.headers["retry-after"]
    whole = next(each for each in found if each.status_code == 200).json()
    numbers = [f"big-{number}" for number in range(RUNS)]
    if name == "session":
        texts = [each["content"] for each in whole["chat_history"]]
        assert [text for text in texts if len(text) < 99] == [f"question {number}" for number in range(RUNS)]
        assert (whole["metrics"], whole["total_tokens"]) == ({"total_tokens": 2 * RUNS}, 2 * RUNS)
    elif name == "list":
        assert [each["metadata"] for each in whole["data"]] == [{"m": "m"}] * 20
    else:
        assert [each["run_id"] for each in whole] == numbers
        assert not any("reasoning_content" in each for each in whole)


def test_readers_that_read_nothing_stop_only_themselves(service: RunningService) -> None:
    with ExitStack() as opened:
        client = opened.enter_context(httpx.Client(base_url=service.url, timeout=60, headers=as_caller("ann", *SCOPES)))
        begun = [opened.enter_context(client.stream("GET", PATHS["runs"])) for _ in range(READERS)]
        assert {each.status_code for each in begun} == {200, 503}
        assert read(service, "/sessions/small/runs", "eve").status_code == 200
    assert read(service, PATHS["previews"]).status_code == 200


@pytest.mark.parametrize(
    "path", ["/sessions/whole", "/sessions/whole/runs", "/sessions/whole/runs/whole-0", "/agents/echo/runs/whole-0"]
)
def test_a_run_that_is_larger_than_the_budget_is_413(service: RunningService, path: str) -> None:
    found = read(service, path)
    assert (found.status_code, found.json()["error_code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert "response_buffer_bytes" in found.json()["detail"]
    assert read(service, "/sessions/small", "eve").status_code == 200


@pytest.mark.parametrize("action", ["cancel", "continue", "resume"])
def test_an_action_on_a_run_that_is_larger_than_the_budget_is_413(service: RunningService, action: str) -> None:
    path = f"/agents/echo/runs/whole-0/{action}"
    form = {"tools": '[{"tool_call_id": "a", "confirmed": true}]'} if action == "continue" else {"session_id": "whole"}
    for caller, status in (("ann", 413), ("eve", 404)):
        with httpx.Client(base_url=service.url, timeout=120, headers=as_caller(caller, *SCOPES)) as client:
            found = client.post(path, data=form)
            assert found.status_code == status, found.text


def test_the_size_of_a_run_of_another_user_is_not_told(service: RunningService) -> None:
    for path in ("/sessions/whole", "/sessions/whole/runs/whole-0", "/agents/echo/runs/whole-0"):
        assert read(service, path, "eve").status_code == 404


def test_a_small_session_is_one_body(service: RunningService) -> None:
    found = read(service, "/sessions/small", "eve")
    assert "content-length" in found.headers
    contents = [each["content"] for each in found.json()["chat_history"]]
    assert contents == ["question 0", "y", "question 1", "y", "question 2", "y"]


def test_nothing_changes_if_the_response_is_too_large(service: RunningService) -> None:
    with httpx.Client(base_url=service.url, timeout=120, headers=as_caller("ann", *SCOPES)) as client:
        assert client.patch("/sessions/whole", json={"session_name": "other"}).status_code == 413
        assert client.post("/sessions/whole/rename", json={"session_name": "other"}).status_code == 413
    [found] = read(service, "/sessions?session_name=whole").json()["data"]
    assert found["session_name"] == "whole"
