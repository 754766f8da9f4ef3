"""Hosted agents, teams and workflows of agno over HTTP, and their traces."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from agno.db.sqlite import SqliteDb

from support.services.adapted import nodes_of, start_adapted, trace_of, types_of
from support.services.hosted import run, run_events, stream

if TYPE_CHECKING:
    from support.services.process import RunningService


def test_a_run_is_agnos_result_and_one_trace_under_its_own_ids(adapted: RunningService) -> None:
    result = run(adapted, "agents/ann", "weather", session_id="s1", user_id="ann@x").raise_for_status().json()
    assert (result["content"], result["status"]) == ("it is: sunny in Rome", "COMPLETED")
    assert (result["agent_id"], result["session_id"], result["user_id"]) == ("ann", "s1", "ann@x")
    assert result["model_provider"] == "Tests"
    assert [message["role"] for message in result["messages"]][-3:] == ["assistant", "tool", "assistant"]
    assert result["tools"][0]["result"] == "sunny in Rome"
    assert result["metrics"]["total_tokens"] == 20
    trace = trace_of(adapted, result)
    assert (trace["run_id"], trace["agent_id"]) == (result["run_id"], "ann")
    assert (trace["session_id"], trace["user_id"], trace["status"]) == ("s1", "ann@x", "OK")
    assert (trace["input"], trace["output"]) == ("weather", "it is: sunny in Rome")
    assert types_of(trace) == ["AGENT", "LLM", "LLM", "TOOL"]
    [root] = trace["tree"]
    assert root["name"] == "Ann.arun"
    assert (root["metadata"]["total_input_tokens"], root["metadata"]["total_output_tokens"]) == (14, 6)
    tool = next(node for node in nodes_of(trace) if node["type"] == "TOOL")
    assert (tool["name"], tool["output"]) == ("weather", "sunny in Rome")


def test_streamed_events_are_agnos_own_and_the_trace_is_there_when_the_last_one_is(adapted: RunningService) -> None:
    events = stream(adapted, "agents/ann", "weather")
    assert [event["event"] for event in events] == [
        "RunStarted",
        "ModelRequestStarted",
        "ModelRequestCompleted",
        "ToolCallStarted",
        "ToolCallCompleted",
        "ModelRequestStarted",
        "RunContent",
        "RunContent",
        "RunContent",
        "ModelRequestCompleted",
        "RunContentCompleted",
        "RunCompleted",
    ]
    assert {event["run_id"] for event in events} == {events[0]["run_id"]}
    assert trace_of(adapted, events[-1])["run_id"] == events[0]["run_id"]


@pytest.mark.parametrize(
    ("component", "prefix"), [("agents/ann", "Run"), ("teams/tim", "TeamRun"), ("workflows/flow", "Workflow")]
)
def test_a_run_that_is_not_streamed_has_the_events_of_its_start_and_its_end(
    adapted: RunningService, component: str, prefix: str
) -> None:
    def members(event: dict[str, Any]) -> set[str]:
        return event.keys() - {"event_index", "model_provider", "reasoning_content"}

    result = run(adapted, component, "weather", user_id="u").raise_for_status().json()
    with adapted.http.stream("POST", f"/{component}/runs/{result['run_id']}/resume") as answer:
        plain = list(run_events(answer))
    streamed = stream(adapted, component, "weather", user_id="u")
    assert [event["event"] for event in plain] == [f"{prefix}Started", f"{prefix}Completed"]
    assert [streamed[0]["event"], streamed[-1]["event"]] == [f"{prefix}Started", f"{prefix}Completed"]
    assert members(plain[-1]) == members(streamed[-1])
    assert plain[-1]["content"] == streamed[-1]["content"] == result["content"]


def test_a_streamed_workflow_pauses_and_continues(adapted: RunningService) -> None:
    paused = stream(adapted, "workflows/confirmed", "x")[-1]
    assert (paused["event"], paused["status"]) == ("WorkflowPaused", "PAUSED")
    answers = json.dumps([{**requirement, "confirmed": True} for requirement in paused["step_requirements"]])
    path = f"/workflows/confirmed/runs/{paused['run_id']}/continue"
    with adapted.http.stream("POST", path, data={"step_requirements": answers}) as answer:
        *_, last = run_events(answer)
    assert (last["event"], last["content"]) == ("WorkflowCompleted", "done: done: x")


def test_a_failure_that_agno_catches_is_its_result_and_its_trace_says_why(adapted: RunningService) -> None:
    answer = run(adapted, "agents/ann", "fail")
    result = answer.json()
    assert (answer.status_code, result["status"], result["content"]) == (200, "ERROR", "the model broke")
    trace = trace_of(adapted, result)
    assert (trace["status"], trace["error"]) == ("ERROR", "RuntimeError: the model broke")
    *_, last = stream(adapted, "agents/ann", "fail")
    assert (last["event"], last["content"]) == ("RunError", "the model broke")


def test_a_tool_that_fails_does_not_fail_the_run(adapted: RunningService) -> None:
    result = run(adapted, "agents/ann", "broken").json()
    assert result["status"] == "COMPLETED"
    assert trace_of(adapted, result)["error_count"] >= 1


@pytest.mark.parametrize(("confirmed", "content"), [(True, "it is: refunded 5"), (False, "it is: ")])
def test_a_tool_that_needs_confirmation_pauses_the_run(adapted: RunningService, confirmed: bool, content: str) -> None:  # noqa: FBT001  # the case
    paused = run(adapted, "agents/ann", "refund", session_id="pause").json()
    assert paused["status"] == "PAUSED"
    [tool] = paused["tools"]
    assert (tool["tool_name"], tool["requires_confirmation"]) == ("refund", True)
    path = f"/agents/ann/runs/{paused['run_id']}/continue"
    wrong = adapted.http.post(path, data={"tools": json.dumps([{**tool, "tool_call_id": "other"}]), "stream": "false"})
    assert (wrong.status_code, wrong.json()["error_code"]) == (400, "BAD_REQUEST")
    answered = {"tools": json.dumps([{**tool, "confirmed": confirmed}]), "stream": "false"}
    result = adapted.http.post(path, data=answered).raise_for_status().json()
    assert (result["status"], result["run_id"]) == ("COMPLETED", paused["run_id"])
    assert result["content"].startswith(content)
    assert result["metadata"] == paused["metadata"]
    trace = trace_of(adapted, result)
    [root] = trace["tree"]
    assert (root["name"], trace["output"], trace["run_id"]) == ("Ann.arun", result["content"], paused["run_id"])
    assert types_of(trace).count("LLM") == 2
    assert adapted.http.post(path, data=answered).status_code == 409


def test_a_paused_run_survives_a_restart(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("restart")
    with start_adapted(folder) as service:
        service.wait_until_ready()
        paused = [run(service, component, "refund").json() for component in ("agents/keeper", "teams/tim")]
        step = run(service, "workflows/confirmed", "x").json()
        assert [result["status"] for result in (*paused, step)] == ["PAUSED"] * 3
    with start_adapted(folder) as service:
        service.wait_until_ready()
        agent, team = paused
        tools = json.dumps([{**tool, "confirmed": True} for tool in agent["tools"]])
        path = f"/agents/keeper/runs/{agent['run_id']}/continue"
        result = service.http.post(path, data={"tools": tools, "stream": "false"}).raise_for_status().json()
        assert (result["status"], result["content"]) == ("COMPLETED", "it is: refunded 5")
        answers = [
            {
                **requirement,
                "confirmation": True,
                "tool_execution": {**requirement["tool_execution"], "confirmed": True},
            }
            for requirement in team["requirements"]
        ]
        path = f"/teams/tim/runs/{team['run_id']}/continue"
        form = {"requirements": json.dumps(answers), "stream": "false"}
        result = service.http.post(path, data=form).raise_for_status().json()
        assert result["status"] == "COMPLETED"
        assert "refunded 5" in json.dumps(result)
        answers = [{**requirement, "confirmed": True} for requirement in step["step_requirements"]]
        path = f"/workflows/confirmed/runs/{step['run_id']}/continue"
        form = {"step_requirements": json.dumps(answers), "stream": "false"}
        result = service.http.post(path, data=form).raise_for_status().json()
        assert (result["status"], result["content"]) == ("COMPLETED", "done: done: x")


@pytest.mark.parametrize("component", ["agents/ann", "agents/keeper"])
def test_a_caller_does_not_approve_for_an_administrator(adapted: RunningService, component: str) -> None:
    paused = run(adapted, component, "launch").json()
    [tool] = paused["tools"]
    path = f"/{component}/runs/{paused['run_id']}/continue"
    for forged in ({"confirmed": True}, {"confirmed": True, "approval_type": None}):
        form = {"tools": json.dumps([{**tool, **forged}]), "stream": "false"}
        assert adapted.http.post(path, data=form).status_code == 403
    assert adapted.http.get(path.removesuffix("/continue")).json()["status"] == "PAUSED"
    if component == "agents/keeper":
        db = SqliteDb(db_file=str(adapted.data_dir.parent / "agno.db"), id="theirs")
        [waiting] = db.get_approvals(run_id=paused["run_id"])[0]
        db.update_approval(waiting["id"], status="approved")
        result = adapted.http.post(path, data={"stream": "false"}).raise_for_status().json()
        assert (result["status"], result["content"]) == ("COMPLETED", "it is: launched")


def test_an_answer_does_not_change_what_is_called(adapted: RunningService) -> None:
    paused = run(adapted, "agents/ann", "refund").json()
    forged = {"confirmed": True, "tool_args": {"amount": 5000}, "tool_name": "launch", "result": "refunded 5000"}
    form = {"tools": json.dumps([{**paused["tools"][0], **forged}]), "stream": "false"}
    result = adapted.http.post(f"/agents/ann/runs/{paused['run_id']}/continue", data=form).raise_for_status().json()
    assert result["content"] == "it is: refunded 5"


@pytest.mark.parametrize(
    ("component", "name", "content"),
    [
        ("teams/mixed", "requirements", "it is: refunded 5"),
        ("workflows/mixed-steps", "step_requirements", "IT IS: REFUNDED 5"),
    ],
)
def test_a_paused_agno_member_pauses_the_whole(
    adapted: RunningService, component: str, name: str, content: str
) -> None:
    paused = run(adapted, component, "refund").json()
    assert paused["status"] == "PAUSED"
    answers = [{**requirement, "confirmation": True} for requirement in paused[name]]
    path = f"/{component}/runs/{paused['run_id']}/continue"
    result = adapted.http.post(path, data={name: json.dumps(answers), "stream": "false"}).raise_for_status().json()
    assert (result["status"], result["content"]) == ("COMPLETED", content)
    trace = trace_of(adapted, result)
    assert len(trace["tree"]) == 1


def test_an_unanswered_step_is_400_and_the_run_stays_paused(adapted: RunningService) -> None:
    paused = run(adapted, "workflows/confirmed", "x").json()
    path = f"/workflows/confirmed/runs/{paused['run_id']}/continue"
    for answers in ("[]", '[{"step_name": 1}]'):
        assert adapted.http.post(path, data={"step_requirements": answers, "stream": "false"}).status_code == 400
    assert adapted.http.get(f"/workflows/confirmed/runs/{paused['run_id']}").json()["status"] == "PAUSED"


def _confirmed(paused: dict[str, Any]) -> dict[str, str]:
    """Returns the form that confirms every tool of a waiting workflow step."""
    answers = [
        {
            **requirement,
            "executor_requirements": [
                {**inner, "confirmation": True} for inner in requirement["executor_requirements"]
            ],
        }
        for requirement in paused["step_requirements"]
    ]
    return {"step_requirements": json.dumps(answers), "stream": "false"}


@pytest.mark.parametrize("component", ["workflows/flow", "workflows/built-workflow"])
def test_a_tool_inside_a_step_pauses_the_workflow(adapted: RunningService, component: str) -> None:
    paused = run(adapted, component, "refund").json()
    path = f"/{component}/runs/{paused['run_id']}/continue"
    assert adapted.http.post(path, data={"stream": "false"}).status_code == 400
    result = adapted.http.post(path, data=_confirmed(paused)).raise_for_status().json()
    assert (result["status"], result["content"]) == ("COMPLETED", "done: it is: refunded 5")
    assert len(trace_of(adapted, result)["tree"]) == 1


def test_nobody_approves_inside_a_workflow(adapted: RunningService) -> None:
    paused = run(adapted, "workflows/built-workflow", "launch").json()
    path = f"/workflows/built-workflow/runs/{paused['run_id']}/continue"
    assert adapted.http.post(path, data=_confirmed(paused)).status_code == 403


def test_a_continued_workflow_is_one_trace(adapted: RunningService) -> None:
    paused = run(adapted, "workflows/confirmed", "x", user_id="w").json()
    answers = json.dumps([{**requirement, "confirmed": True} for requirement in paused["step_requirements"]])
    path = f"/workflows/confirmed/runs/{paused['run_id']}/continue"
    form = {"step_requirements": answers, "stream": "false"}
    result = adapted.http.post(path, data=form).raise_for_status().json()
    assert result["metadata"] == paused["metadata"]
    trace = trace_of(adapted, result)
    assert (trace["input"], trace["output"], trace["workflow_id"]) == ("x", "done: done: x", "confirmed")
    [root] = trace["tree"]
    assert (root["name"], root["type"]) == ("Confirmed.arun", "WORKFLOW")
    assert [step["name"].partition(".")[0] for step in root["spans"]] == ["finish", "again"]


def test_cancelling_ends_a_run_and_says_so_in_its_trace(adapted: RunningService) -> None:
    begun = run(adapted, "agents/ann", "wait", background="true").json()
    path = f"/agents/ann/runs/{begun['run_id']}"
    assert adapted.http.post(f"{path}/cancel").status_code == 200
    result = adapted.http.get(path).json()
    assert result["status"] == "CANCELLED"
    trace = trace_of(adapted, result)
    assert (trace["status"], trace["error"]) == ("ERROR", "the run was cancelled")


def test_a_teams_trace_holds_its_members(adapted: RunningService) -> None:
    result = run(adapted, "teams/tim", "weather", user_id="t").json()
    assert (result["status"], result["team_id"]) == ("COMPLETED", "tim")
    assert result["content"].startswith("the member says: ")
    assert result["member_responses"][0]["agent_id"] == "member"
    trace = trace_of(adapted, result)
    assert (trace["team_id"], trace["run_id"], trace.get("agent_id")) == ("tim", result["run_id"], None)
    assert types_of(trace) == ["AGENT", "LLM", "LLM", "LLM", "LLM", "TEAM", "TOOL", "TOOL"]
    assert len(trace["tree"]) == 1


def test_a_workflows_trace_holds_its_steps(adapted: RunningService) -> None:
    events = stream(adapted, "workflows/flow", "weather", session_id="w")
    assert (events[0]["event"], events[-1]["event"]) == ("WorkflowStarted", "WorkflowCompleted")
    result = adapted.http.get(f"/workflows/flow/runs/{events[-1]['run_id']}").json()
    assert (result["content"], result["status"]) == ("done: it is: sunny in Rome", "COMPLETED")
    assert [step["step_name"] for step in result["step_results"]] == ["ask", "finish"]
    trace = trace_of(adapted, result)
    assert (trace["workflow_id"], trace["session_id"], trace["run_id"]) == ("flow", "w", result["run_id"])
    assert types_of(trace) == ["AGENT", "LLM", "LLM", "TOOL", "WORKFLOW", "WORKFLOW", "WORKFLOW"]
    assert [node.get("step_type") for node in trace["tree"][0]["spans"]] == ["Step", "Step"]
    assert len(trace["tree"]) == 1


def test_a_blocking_step_delays_nobody(adapted: RunningService) -> None:
    begun = run(adapted, "workflows/patient", "sign", background="true").json()
    path = f"/workflows/patient/runs/{begun['run_id']}"
    assert adapted.http.get(path).json()["status"] == "RUNNING"
    (adapted.data_dir.parent / "sign").touch()
    with adapted.http.stream("POST", f"{path}/resume") as answer:
        *_, last = run_events(answer)
    assert (last["event"], last["content"]) == ("WorkflowCompleted", "found")


@pytest.mark.parametrize("component", ["agents/ann", "agents/keeper"])
def test_runs_at_once_do_not_cross(adapted: RunningService, component: str) -> None:
    def ask(number: int) -> dict[str, Any]:
        given = {"session_id": f"{component}-{number}", "user_id": f"user-{number}"}
        found: dict[str, Any] = run(adapted, component, "whoami", **given).raise_for_status().json()
        return found

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(ask, range(24)))
    for number, result in enumerate(results):
        assert result["content"] == f"it is: user-{number} in {component}-{number}"
        assert result["session_state"] == {"seen": [f"user-{number}"]}
        trace = trace_of(adapted, result)
        assert (trace["user_id"], trace["session_id"]) == (f"user-{number}", f"{component}-{number}")
        assert types_of(trace) == ["AGENT", "LLM", "LLM", "TOOL"]


@pytest.mark.parametrize("component", ["agents/ann", "agents/keeper"])
def test_a_session_remembers_its_state(adapted: RunningService, component: str) -> None:
    given = {"session_id": f"state-{component}", "user_id": "u"}
    for times in (1, 2):
        assert run(adapted, component, "whoami", **given).json()["session_state"] == {"seen": ["u"] * times}
    paused = run(adapted, component, "refund", **given).json()
    path = f"/{component}/runs/{paused['run_id']}/continue"
    tools = json.dumps([{**tool, "confirmed": False} for tool in paused["tools"]])
    result = adapted.http.post(path, data={"tools": tools, "stream": "false"}).json()
    assert (result["status"], result["session_state"]) == ("COMPLETED", {"seen": ["u", "u"]})


def test_the_arguments_of_a_run_reach_agno(adapted: RunningService) -> None:
    given = {"dependencies": '{"city": "Lisbon"}', "metadata": '{"tag": "t"}', "session_state": '{"seen": ["before"]}'}
    result = run(adapted, "agents/dependent", "hello", user_id="u", **given).json()
    assert "Lisbon" in json.dumps(result["messages"])
    assert result["metadata"] == {"tag": "t", "trace_id": result["metadata"]["trace_id"]}
    for component in ("agents/ann", "agents/keeper"):
        result = run(adapted, component, "whoami", user_id="u", **given).json()
        assert result["session_state"] == {"seen": ["before", "u"]}


def test_agnos_db_holds_the_sessions_of_the_component(adapted: RunningService) -> None:
    run(adapted, "agents/keeper", "first", session_id="kept")
    result = run(adapted, "agents/keeper", "recall", session_id="kept").json()
    assert result["content"] == "heard ['first', 'recall']"


@pytest.mark.parametrize("sent", [{"user_id": "alice", "session_id": "hers"}, {"user_id": "alice"}])
def test_a_component_does_not_choose_the_user(adapted: RunningService, sent: dict[str, str]) -> None:
    result = run(adapted, "agents/imposter", "weather", **sent).json()
    assert result["user_id"] == "alice"
    assert result["session_id"] != "theirs"
    trace = trace_of(adapted, result)
    assert (trace["user_id"], trace["session_id"]) == ("alice", result["session_id"])
    assert {node["metadata"]["user_id"] for node in nodes_of(trace)} == {"alice"}


@pytest.mark.parametrize(
    ("component", "kind"),
    [("agents/built", "agent"), ("teams/built-team", "team"), ("workflows/built-workflow", "workflow")],
)
def test_a_factory_builds_objects_of_agno(adapted: RunningService, component: str, kind: str) -> None:
    result = run(adapted, component, "weather", user_id="u").json()
    assert (result["status"], result[f"{kind}_id"]) == ("COMPLETED", component.partition("/")[2])
    assert [event["event"] for event in result["events"]][-1].endswith("Completed")
    assert trace_of(adapted, result)[f"{kind}_id"] == result[f"{kind}_id"]


@pytest.mark.parametrize(("component", "content"), [("teams/mixed", "it is: "), ("workflows/mixed-steps", "IT IS: ")])
def test_agents_of_agno_are_members_and_steps(adapted: RunningService, component: str, content: str) -> None:
    events = stream(adapted, component, "weather", user_id="u")
    inner = [event for event in events if event["event"] == "RunCompleted"]
    assert [event["nested_depth"] for event in inner] == [1]
    assert inner[0]["parent_run_id"] == events[0]["run_id"]
    result = adapted.http.get(f"/{component}/runs/{events[0]['run_id']}").json()
    assert result["content"].startswith(content)
    trace = trace_of(adapted, result)
    assert len(trace["tree"]) == 1
    assert types_of(trace).count("LLM") == 2


def test_a_failed_agno_member_fails_the_whole(adapted: RunningService) -> None:
    assert run(adapted, "workflows/mixed-steps", "fail").status_code == 500


def test_a_listing_shows_the_description_of_agno(adapted: RunningService) -> None:
    agents = {agent["id"]: agent for agent in adapted.http.get("/agents").json()}
    assert agents["ann"]["model"] == {"name": "Scripted", "model": "scripted-1", "provider": "Tests"}
    assert agents["keeper"]["db_id"] == "theirs"
    team = adapted.http.get("/teams/tim").json()
    assert (team["mode"], team["members"][0]["id"]) == ("coordinate", "member")
    workflow = adapted.http.get("/workflows/flow").json()
    assert [step["name"] for step in workflow["steps"]] == ["ask", "finish"]


def test_parts_without_names_run(adapted: RunningService) -> None:
    result = run(adapted, "workflows/nameless", "weather").raise_for_status().json()
    assert (result["status"], result["content"]) == ("COMPLETED", "done: done: done: done: done: hello there")
    [root] = trace_of(adapted, result)["tree"]
    assert root["name"] == "nameless.arun"
    events = stream(adapted, "workflows/nameless", "weather")
    assert events[-1]["event"] == "WorkflowCompleted"
