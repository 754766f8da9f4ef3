"""Hosted agents of pydantic-ai."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from support.services.adapted import trace_of, types_of
from support.services.hosted import run, stream

if TYPE_CHECKING:
    from support.services.process import RunningService


def test_a_run_streams_and_is_one_trace(adapted: RunningService) -> None:
    events = stream(adapted, "agents/helper", "weather", session_id="s", user_id="u")
    assert [event["event"] for event in events] == [
        "RunStarted",
        "ToolCallStarted",
        "ToolCallCompleted",
        "RunContent",
        "RunContent",
        "RunContentCompleted",
        "RunCompleted",
    ]
    assert events[-1]["content"] == "it is: sunny in Rome"
    trace = trace_of(adapted, events[-1])
    assert (trace["name"], trace["run_id"], trace["agent_id"]) == ("invoke_agent helper", events[0]["run_id"], "helper")
    assert (trace["session_id"], trace["user_id"], trace["status"]) == ("s", "u", "OK")
    assert types_of(trace) == ["AGENT", "LLM", "LLM", "TOOL"]
    assert trace["output"] == "it is: sunny in Rome"


def test_a_failure_is_a_fixed_text_and_its_cause_is_in_the_trace(adapted: RunningService) -> None:
    *_, last = stream(adapted, "agents/helper", "fail")
    assert last["event"] == "RunError"
    assert "broke" not in last["content"]
    trace = trace_of(adapted, last | {"metadata": {"trace_id": _last_trace(adapted, last["run_id"])}})
    assert trace["status"] == "ERROR"
    assert "the model broke" in trace["error"]


def _last_trace(adapted: RunningService, run_id: str) -> str:
    [trace_id] = adapted.trace_ids(filter={"op": "EQ", "key": "run_id", "value": run_id})
    return trace_id


@pytest.mark.parametrize(
    ("answer", "content"),
    [
        ({"confirmed": True}, "it is: refunded 5"),
        ({"confirmed": False, "confirmation_note": "too much"}, "it is: too much"),
    ],
)
def test_a_tool_that_needs_approval_pauses_the_run(
    adapted: RunningService, answer: dict[str, object], content: str
) -> None:
    paused = run(adapted, "agents/helper", "refund").json()
    assert paused["status"] == "PAUSED"
    [tool] = paused["tools"]
    path = f"/agents/helper/runs/{paused['run_id']}/continue"
    wrong = json.dumps([{"tool_call_id": "other", "confirmed": True}])
    assert adapted.http.post(path, data={"tools": wrong, "stream": "false"}).status_code == 400
    form = {"tools": json.dumps([{**tool, **answer}]), "stream": "false"}
    result = adapted.http.post(path, data=form).raise_for_status().json()
    assert (result["status"], result["content"]) == ("COMPLETED", content)
    trace = trace_of(adapted, result)
    assert (len(trace["tree"]), trace["output"]) == (1, content)
    assert types_of(trace).count("LLM") == 2


def test_cancelling_ends_a_run(adapted: RunningService) -> None:
    begun = run(adapted, "agents/helper", "wait", background="true").json()
    path = f"/agents/helper/runs/{begun['run_id']}"
    assert adapted.http.post(f"{path}/cancel").status_code == 200
    assert adapted.http.get(path).json()["status"] == "CANCELLED"


def test_an_agent_of_pydantic_ai_is_a_member_of_a_team(adapted: RunningService) -> None:
    result = run(adapted, "teams/mixed", "weather please").json()
    assert result["content"] == "it is: sunny in Rome"
    trace = trace_of(adapted, result)
    assert (len(trace["tree"]), trace["team_id"]) == (1, "mixed")
    assert types_of(trace) == ["AGENT", "LLM", "LLM", "TEAM", "TOOL"]
