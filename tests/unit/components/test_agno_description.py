"""The descriptions of agno's components equal those of agno's own service."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from agno.agent import Agent as AgnoAgent
from agno.team import Team as AgnoTeam
from agno.tools import Toolkit
from agno.workflow import Condition, Loop, Parallel, Router, Steps
from agno.workflow import Step as AgnoStep
from agno.workflow import Workflow as AgnoWorkflow

from spanwise.components import Kind, as_component
from spanwise.http.responses.components import describe_component
from support.apps.agno_objects import agno_agent, agno_team, agno_workflow, database, done, weather
from support.apps.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

os_agents = pytest.importorskip("agno.os.routers.agents.schema", reason="agno's own service needs fastapi")
os_teams = pytest.importorskip("agno.os.routers.teams.schema", reason="agno's own service needs fastapi")
os_workflows = pytest.importorskip("agno.os.routers.workflows.schema", reason="agno's own service needs fastapi")
BUILDERS = {
    Kind.AGENT: os_agents.AgentResponse.from_agent,
    Kind.TEAM: os_teams.TeamResponse.from_team,
    Kind.WORKFLOW: os_workflows.WorkflowResponse.from_workflow,
}
ELSEWHERE = {"tool_choice": "auto", "tool_call_limit": 3}


def described(own: Any) -> dict[str, Any]:
    """Returns the listing of an object as a client reads it."""
    component = as_component(own)
    component.initialize()
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(describe_component(component)))
    return found


def described_by_agno(own: Any) -> dict[str, Any]:
    component = as_component(own)
    component.initialize()
    found: dict[str, Any] = asyncio.run(BUILDERS[component.kind](own)).model_dump(mode="json", exclude_none=True)
    return found


def assert_contained(ours: Any, theirs: Any, place: str = "$") -> None:
    """Checks that `theirs` contains everything in `ours`."""
    match ours:
        case dict():
            for name, value in ours.items():
                assert name in theirs, f"{place}.{name} is not agno's"
                assert_contained(value, theirs[name], f"{place}.{name}")
        case list():
            assert len(ours) == len(theirs), place
            for index, (each, other) in enumerate(zip(ours, theirs, strict=True)):
                assert_contained(each, other, f"{place}[{index}]")
        case _:
            assert ours == theirs, place


def elaborate(folder: Path) -> AgnoAgent:
    return agno_agent(
        "elaborate",
        description="Knows it all",
        role="clerk",
        instructions=["Be brief.", "Be kind."],
        system_message="You are a clerk.",
        expected_output="one line",
        additional_context="It is late.",
        markdown=True,
        add_name_to_context=True,
        add_datetime_to_context=True,
        timezone_identifier="Europe/Rome",
        add_history_to_context=True,
        num_history_runs=7,
        cache_session=True,
        introduction="Hello.",
        metadata={"team": 1},
        db=database_in(folder),
        **ELSEWHERE,
    )


def choose(_: object) -> Any:
    return []


def database_in(folder: Path) -> Any:
    return type(database())(db_file=str(folder / "agno.db"), id="theirs")


@pytest.mark.parametrize("member", ["tools", "sessions", "system_message", "model", "db_id", "role", "introduction"])
def test_an_agent_is_described_as_by_agno(tmp_path: Path, member: str) -> None:
    agent = elaborate(tmp_path)
    assert described(agent)[member] == described_by_agno(agent)[member]
    assert_contained(described(agent), described_by_agno(agent))


def test_defaults_are_not_shown(tmp_path: Path) -> None:
    plain = AgnoAgent(id="plain", model=ScriptedModel(answer=list))
    assert {"tools", "sessions", "system_message"}.isdisjoint(described(plain))
    kept = AgnoAgent(id="kept", model=ScriptedModel(answer=list), db=database_in(tmp_path))
    assert described(kept)["sessions"] == described_by_agno(kept)["sessions"] == {"session_table": "agno_sessions"}


def test_every_kind_of_tool_is_described() -> None:
    tools: list[Any] = [
        weather,
        Toolkit(name="kit", tools=[weather]),
        {"type": "web_search"},
        *(agno_agent("x").tools or []),  # type: ignore[misc]
    ]
    agent = AgnoAgent(id="tooled", model=ScriptedModel(answer=list), tools=tools)
    assert described(agent)["tools"] == described_by_agno(agent)["tools"]


def test_no_function_of_the_program_is_called() -> None:
    def fail(*_: object) -> Any:
        raise AssertionError

    agent = AgnoAgent(id="lazy", model=ScriptedModel(answer=list), instructions=fail, system_message=fail, tools=fail)
    assert {"tools", "system_message"}.isdisjoint(described(agent))


def test_a_team_is_described_with_its_members(tmp_path: Path) -> None:
    inner = agno_team("inner", description="one more")
    members: list[Any] = [elaborate(tmp_path), inner]
    team = AgnoTeam(
        id="team",
        name="Team",
        members=members,
        model=ScriptedModel(answer=list),
        db=database_in(tmp_path),
        instructions="Ask the clerk.",
        num_history_runs=2,
    )
    ours, theirs = described(team), described_by_agno(team)
    assert_contained(ours, theirs)
    assert (ours["sessions"], ours["system_message"]) == (theirs["sessions"], theirs["system_message"])
    assert [each["id"] for each in ours["members"]] == ["elaborate", "inner"]
    assert ours["members"][1]["members"][0]["tools"] == theirs["members"][1]["members"][0]["tools"]


def test_the_steps_of_a_workflow_have_their_agents_and_teams(tmp_path: Path) -> None:
    ask = AgnoStep(name="ask", agent=elaborate(tmp_path), description="asks")
    parallel: list[Any] = [ask, AgnoStep(name="code", executor=done)]
    both = Parallel(*parallel, name="both")
    steps: list[Any] = [
        ask,
        AgnoStep(name="team", team=agno_team("inner")),
        AgnoStep(name="code", executor=done),
        done,
        agno_agent("direct"),
        Steps(name="all", steps=[ask]),
        Loop(name="loop", steps=[ask], max_iterations=2),
        both,
        Condition(name="maybe", evaluator=lambda _: True, steps=[ask]),
        Router(name="route", selector=choose, choices=[ask]),
    ]
    flow = AgnoWorkflow(id="deep", name="Deep", steps=steps)
    ours, theirs = described(flow), described_by_agno(flow)
    assert_contained(ours, theirs)
    assert [each["type"] for each in ours["steps"]] == [each["type"] for each in theirs["steps"]]
    assert ours["steps"][0]["agent"]["system_message"] == theirs["steps"][0]["agent"]["system_message"]
    assert ours["steps"][5]["steps"][0]["agent"]["db_id"] == "theirs"
    assert described(agno_workflow("flow"))["steps"][0]["agent"]["id"] == "asked"


def test_a_workflow_that_is_a_function_has_no_steps() -> None:
    def run_it(*_: object) -> str:
        return "done"

    flow = AgnoWorkflow(id="function", name="Function", steps=run_it)
    assert described(flow)["steps"] == described_by_agno(flow)["steps"] == []
