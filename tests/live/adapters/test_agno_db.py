"""The contents of agno's db after runs hosted here equal those after the same runs in agno itself."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from agno.db.base import SessionType
from agno.db.sqlite import SqliteDb

from support.apps import agno_kept
from support.services.adapted import ENVIRONMENT
from support.services.hosted import run, start_hosted, stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.services.process import RunningService

KINDS = ["agents/single", "teams/group", *(f"workflows/{name}" for name in ("condition", "parallel", "loop", "router"))]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("kept")
    module = "support.apps.agno_kept"
    with start_hosted(folder, module=module, ADAPTED_FOLDER=str(folder), **ENVIRONMENT) as service:
        service.wait_until_ready()
        yield service


def sessions_in(db_file: Path, path: str, session_ids: list[str]) -> dict[str, Any]:
    """Returns the user and an outline of the runs of each session, as agno reads them; None for a missing session."""
    db = SqliteDb(db_file=str(db_file), id="read")
    session_type = SessionType(path.partition("s/")[0])
    found: dict[str, Any] = {each: db.get_session(each, session_type) for each in session_ids}
    return {
        each: session and (session.user_id, [_outline(kept.to_dict()) for kept in session.runs or ()])
        for each, session in found.items()
    }


def _outline(found: dict[str, Any]) -> dict[str, Any]:
    """Returns the members that two runs of the same component have in common."""
    kept = ("status", "content", "agent_id", "team_id", "workflow_id", "user_id")
    inner = [*(found.get("member_responses") or ()), *(found.get("step_executor_runs") or ())]
    steps = [(step["step_name"], step["success"]) for step in found.get("step_results") or ()]
    return {
        **{name: found.get(name) for name in kept},
        "inner": sorted((_outline(each) for each in inner), key=json.dumps),
        "steps": steps,
        "messages": [message["role"] for message in found.get("messages") or ()],
    }


async def _run_agno(component: Any, prefix: str, count: int, user_id: str | None) -> None:
    for number in range(count):
        own = component.deep_copy()
        await own.arun("weather", session_id=f"{prefix}{number}", user_id=user_id)


def _expect_kept_as_agno_keeps_them(
    service: RunningService, folder: Path, case: tuple[str, bool, str | None], count: int
) -> None:
    path, is_streamed, user_id = case
    prefix = f"{path}-{is_streamed}-{user_id}-"
    user = {} if user_id is None else {"user_id": user_id}
    for number in range(count):
        given = {"session_id": f"{prefix}{number}", **user}
        if is_streamed:
            assert stream(service, path, "weather", **given)[-1]["event"].endswith("Completed")
        else:
            assert run(service, path, "weather", **given).json()["status"] == "COMPLETED"
    db = SqliteDb(db_file=str(folder / "own.db"), id="own")
    made = [*agno_kept.kept_agents(db), *agno_kept.kept_teams(db), *agno_kept.kept_workflows(db)]
    [component] = [each for each in made if each.id == path.partition("/")[2]]
    asyncio.run(_run_agno(component, prefix, count, user_id))
    session_ids = [f"{prefix}{number}" for number in range(count)]
    expected = sessions_in(folder / "own.db", path, session_ids)
    assert all(runs for _, runs in expected.values())
    assert sessions_in(service.data_dir.parent / "agno.db", path, session_ids) == expected


CASES = [
    pytest.param((path, is_streamed, user_id), id=f"{path}-{'streamed' if is_streamed else 'plain'}-{user_id}")
    for path in KINDS
    for is_streamed in (False, True)
    for user_id in (None, "u")
]


@pytest.mark.parametrize("case", CASES)
def test_runs_are_kept_as_agno_keeps_them(kept: RunningService, tmp_path: Path, case: Any) -> None:
    _expect_kept_as_agno_keeps_them(kept, tmp_path, case, 3)


def test_users_and_workflows_may_take_turns_in_a_session(kept: RunningService) -> None:
    for number, (path, user) in enumerate(
        [("workflows/condition", {"user_id": "u"}), ("workflows/condition", {}), ("workflows/confirmed", {})]
    ):
        result = run(kept, path, "weather", session_id="shared", **user)
        assert result.status_code == 200, (number, result.text)
        assert result.json()["status"] == ("PAUSED" if path == "workflows/confirmed" else "COMPLETED")
    assert stream(kept, "workflows/confirmed", "weather", session_id="shared")[-1]["event"] == "WorkflowPaused"


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_hundred_runs_are_kept_as_agno_keeps_them(kept: RunningService, tmp_path: Path, case: Any) -> None:
    _expect_kept_as_agno_keeps_them(kept, tmp_path, case, 100)
