"""Teams without a service: modes, members and pauses."""

from __future__ import annotations

from typing import Any

import pytest

from spanwise.components import Agent, Broadcast, Coordinate, Delegate, Route, Team, Workflow
from spanwise.errors import ComponentError, ConfigurationError
from support.in_process.components import Recorder, ask, members, raising, upper


def test_a_team_routes() -> None:
    seen = Recorder()
    outcome = seen.run(Team(members(), Route(lambda _: "twice"), id="t"))
    assert outcome.content == "hihi"
    assert [response["agent_id"] for response in outcome.parts["member_responses"]] == ["twice"]
    assert seen.names[0] == "TeamRunStarted"
    nested = next(event for event in seen.events if event["event"] == "RunCompleted")
    assert (nested["nested_depth"], nested["parent_run_id"], nested["agent_id"]) == (1, "r", "twice")
    assert seen.spans == [("t.run", "AGENT"), ("twice.run", "AGENT")]


def test_a_team_broadcasts() -> None:
    assert Recorder().run(Team(members(), Broadcast(), id="t")).content == "HI\n\nhihi"
    assert Recorder().run(Team(members(), Broadcast(lambda a: a["twice"] + a["upper"]), id="t")).content == "hihiHI"


def test_a_team_coordinates() -> None:
    async def lead(message: str, delegate: Delegate) -> str:
        return await delegate("upper", await delegate("twice", message))

    outcome = Recorder().run(Team(members(), Coordinate(lead), id="t"))
    assert outcome.content == "HIHI"
    assert [response["agent_id"] for response in outcome.parts["member_responses"]] == ["twice", "upper"]


def test_a_team_needs_members_with_distinct_ids() -> None:
    for wrong in ([], [Agent(upper)], [Agent(upper, id="a")] * 2, [Workflow([upper], id="w")]):
        with pytest.raises(ConfigurationError):
            Team(wrong, Broadcast(), id="t")


@pytest.mark.parametrize("chosen", ["nobody", None, 1])
def test_a_route_to_nobody_fails(chosen: object) -> None:
    with pytest.raises(ComponentError, match="has no member"):
        Recorder().run(Team(members(), Route(lambda _: chosen), id="t"))


@pytest.mark.parametrize("mode", [Route(lambda _: "asking"), Broadcast()])
def test_a_member_pauses_and_resumes(mode: Any) -> None:
    team = Team([Agent(ask, id="asking"), *members()], mode, id="t")
    seen = Recorder()
    paused = seen.run(team)
    assert paused.pause is not None
    assert paused.pause.requirements[0]["member_agent_id"] == "asking"
    assert seen.resume(team, paused, {"confirmation": False}).content.startswith("hi: False, kept")
    ran = [event["agent_id"] for event in seen.events if event["event"] == "RunStarted"]
    assert len(ran) == len(set(ran)), "a member ran twice"


def test_a_failing_member_fails_a_broadcast_with_its_own_error() -> None:
    function, _ = raising(ValueError("x"))
    with pytest.raises(ValueError, match="x"):
        Recorder().run(Team([Agent(function, id="f"), *members()], Broadcast(), id="t"))
