"""Workflows without a service: steps, conditions and pauses."""

from __future__ import annotations

from typing import Any

import pytest

from spanwise.components import Agent, Broadcast, Condition, Step, Team, Workflow
from spanwise.errors import ConfigurationError
from support.in_process.components import Recorder, Shouting, ask, members, raising, twice, upper


def nested() -> Workflow:
    long = Condition("long?", lambda text: len(text) > 3, [Step("shout", Shouting())], [twice, upper])
    inner = Workflow([long], id="inner")
    return Workflow([upper, Step("agent", Agent(twice, id="a")), inner, Team(members(), Broadcast(), id="t")], id="w")


def test_a_workflow_runs_its_steps_in_order() -> None:
    seen = Recorder()
    outcome = seen.run(nested())
    assert outcome.content == "HIHI!\n\nHIHI!HIHI!"
    assert [(r["step_name"], r["step_type"]) for r in outcome.parts["step_results"]] == [
        ("upper", "function"),
        ("agent", "Step"),
        ("inner", "Step"),
        ("t", "Team"),
    ]
    assert [r["status"] for r in outcome.parts["step_executor_runs"]] == ["COMPLETED"] * 3
    assert [event["branch"] for event in seen.events if event["event"] == "ConditionExecutionCompleted"] == ["if"]
    started = next(event for event in seen.events if event["event"] == "RunStarted")
    assert (started["workflow_id"], started["workflow_run_id"], started["step_name"]) == ("w", "r", "agent")


@pytest.mark.parametrize(("message", "content"), [("long", "LONG"), ("s", "ss")])
def test_a_condition_has_two_branches(message: str, content: str) -> None:
    condition = Condition("long?", lambda text: len(text) > 3, [upper], [twice])
    assert Recorder().run(Workflow([condition], id="w"), message).content == content


def test_a_condition_without_an_else_passes_the_text_on() -> None:
    assert Recorder().run(Workflow([Condition("no", lambda _: False, [upper])], id="w")).content == "hi"


def test_a_step_deep_inside_pauses_and_resumes() -> None:
    runs: list[str] = []

    def count(message: str) -> str:
        runs.append(message)
        return message + "1"

    asking = Workflow([count, Team([Agent(ask, id="asking")], Broadcast(), id="t"), upper], id="inner")
    workflow = Workflow([count, Condition("yes", lambda _: True, [count, asking]), Shouting()], id="w")
    seen = Recorder()
    paused = seen.run(workflow)
    assert paused.pause is not None
    assert seen.resume(workflow, paused, {"confirmation": True}).content == "HI111: TRUE, KEPT!"
    assert runs == ["hi", "hi1", "hi11"]
    assert "StepContinued" in seen.names


def test_a_failing_step_emits_an_error_event() -> None:
    function, _ = raising(ValueError("secret"))
    seen = Recorder()
    with pytest.raises(ValueError, match="secret"):
        seen.run(Workflow([Step("bad", Agent(function, id="f"))], id="w"))
    assert seen.names[-2:] == ["RunError", "StepError"]
    assert "secret" not in repr(seen.events)


@pytest.mark.parametrize("steps", [[], [1], [lambda: 1], [Step]])
def test_an_invalid_step_is_rejected(steps: Any) -> None:
    with pytest.raises(ConfigurationError):
        Workflow(steps, id="w")
