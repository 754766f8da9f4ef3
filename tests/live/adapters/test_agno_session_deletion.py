"""Deleting a session also deletes it from agno's database."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from support.services.adapted import start_keeping
from support.services.hosted import run, start_hosted

if TYPE_CHECKING:
    from pathlib import Path

    from support.services.process import RunningService

FILES = {
    "agents/counter": "agno.db",
    "agents/async-counter": "agno-async.db",
    "agents/built": "built.db",
    "teams/tally": "agno.db",
    "teams/outer": "inner.db",
    "workflows/steps": "agno.db",
}
"""Components, and the file of the database with their sessions."""


def kept_ids(service: RunningService, component: str) -> list[str]:
    """Returns the ids of all sessions in the database of a component."""
    path = service.data_dir.parent / FILES[component]
    with closing(sqlite3.connect(path)) as connection:
        return sorted(row[0] for row in connection.execute("SELECT session_id FROM agno_sessions"))


@pytest.mark.parametrize("component", FILES)
def test_nothing_of_it_is_left(keeping: RunningService, component: str) -> None:
    name = component.replace("/", "-")
    given = {"session_id": f"gone-{name}", "user_id": "u"}
    run(keeping, component, "recall my secret", **given).raise_for_status()
    assert f"gone-{name}" in kept_ids(keeping, component)
    assert keeping.http.delete(f"/sessions/gone-{name}").status_code == 204
    assert f"gone-{name}" not in kept_ids(keeping, component)
    assert "secret" not in run(keeping, component, "recall", **given).json()["content"]
    keeping.http.delete(f"/sessions/gone-{name}").raise_for_status()
    for user in ("someone else", ""):
        first, second = (run(keeping, component, f"recall {n}", session_id=f"gone-{name}", user_id=user) for n in "12")
        assert "secret" not in first.json()["content"]
        if component.startswith("agents"):
            assert "recall 1" in second.json()["content"]  # a new session with this id sees the history that remains
        keeping.http.delete(f"/sessions/gone-{name}").raise_for_status()


def test_users_that_share_a_session_keep_their_own_history(keeping: RunningService) -> None:
    """Without authorization a session is shared by all users, but in agno it belongs to one user."""
    for user in ("ann", "eve"):
        run(keeping, "agents/counter", f"recall {user}", session_id="common", user_id=user).raise_for_status()
    found = [
        run(keeping, "agents/counter", "recall", session_id="common", user_id=user).json()["content"]
        for user in ("ann", "eve")
    ]
    assert found == ["heard ['recall ann', 'recall']", "heard ['recall eve', 'recall']"]
    assert len(keeping.http.get("/sessions/common/runs").json()) == 4
    assert len([each for each in kept_ids(keeping, "agents/counter") if each.startswith("common")]) == 2
    keeping.http.delete("/sessions/common").raise_for_status()
    assert [each for each in kept_ids(keeping, "agents/counter") if each.startswith("common")] == []


def test_a_session_of_somebody_else_in_the_same_database_stays(keeping: RunningService) -> None:
    """We must not delete data that a program wrote to a component's database by itself."""
    run(keeping, "agents/counter", "recall", session_id="other", user_id="ann").raise_for_status()
    with closing(sqlite3.connect(keeping.data_dir.parent / "agno.db")) as connection, connection:
        connection.execute("UPDATE agno_sessions SET user_id = 'stranger' WHERE session_id = 'other'")
    assert keeping.http.delete("/sessions/other").status_code == 204
    assert "other" in kept_ids(keeping, "agents/counter")


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_one_that_could_not_be_deleted_there_is_still_here(keeping: RunningService, lock: str) -> None:
    """The database rejects writes, or also reads, which agno mistakes for a database without tables."""
    session_id = f"locked-{lock}"
    run(keeping, "agents/counter", "recall", session_id=session_id, user_id="u").raise_for_status()
    path = keeping.data_dir.parent / "agno.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"BEGIN {lock}")
        rejected = keeping.http.delete(f"/sessions/{session_id}", timeout=60)
        connection.execute("ROLLBACK")
    assert (rejected.status_code, rejected.headers["retry-after"]) == (503, "1"), rejected.text
    detail = rejected.json()["detail"]
    assert detail.startswith(f"session '{session_id}' is not deleted: the database of agent `counter` failed")
    # Older versions of agno print lines of their own, and fail later because of the lock.
    lines = [line for line in keeping.log.read_text().splitlines() if "the database of agent `counter` failed" in line]
    assert "component_databases.py" in json.loads(lines[-1])["traceback"]
    assert len(keeping.http.get(f"/sessions/{session_id}/runs").json()) == 1
    assert keeping.http.delete(f"/sessions/{session_id}").status_code == 204
    assert session_id not in kept_ids(keeping, "agents/counter")


def test_one_whose_component_is_not_hosted_any_more_is_named(tmp_path: Path) -> None:
    with start_keeping(tmp_path) as before:
        before.wait_until_ready()
        run(before, "agents/counter", "recall", session_id="s", user_id="u").raise_for_status()
        run(before, "agents/own", "hi", session_id="free", user_id="u").raise_for_status()
        assert before.stop() == 0
    with start_hosted(tmp_path) as without:
        rejected = without.http.delete("/sessions/s")
        assert rejected.status_code == 409
        assert "the agent `counter`, which keeps it in a database of its own, is not hosted" in rejected.text
        assert without.http.get("/sessions/s").status_code == 200
        assert without.http.delete("/sessions/free").status_code == 204
