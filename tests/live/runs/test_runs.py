"""Runs of agents, teams and workflows over HTTP: streamed, read, resumed, continued, cancelled and traced."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from support.services.hosted import factory_calls, run, run_events, start_hosted, stream, stream_events

if TYPE_CHECKING:
    from pathlib import Path

    from support.services.process import RunningService


def trace_of(service: RunningService, run_id: str) -> dict[str, Any]:
    (found,) = service.items(filter={"op": "EQ", "key": "run_id", "value": run_id})
    return found


def test_an_agent_answers_and_its_trace_is_found(hosted: RunningService) -> None:
    response = run(hosted, "agents/weather", "Lisbon", user_id="ann", session_id="s-weather")
    assert response.status_code == 200, response.text
    result = response.json()
    assert (result["content"], result["status"]) == ("Lisbon: sunny, for ann", "COMPLETED")
    assert (result["agent_id"], result["agent_name"], result["model"]) == ("weather", "Weather", "stub-1")
    assert result["input"] == {"input_content": "Lisbon"}
    assert [event["event"] for event in result["events"]] == ["RunStarted", "RunContentCompleted", "RunCompleted"]
    trace = trace_of(hosted, result["run_id"])
    assert trace["trace_id"] == result["metadata"]["trace_id"]
    assert (trace["input"], trace["output"], trace["status"]) == ("Lisbon", result["content"], "OK")
    assert (trace["session_id"], trace["user_id"], trace["agent_id"]) == ("s-weather", "ann", "weather")
    (root,) = trace["tree"]
    assert (root["name"], root["type"], root["spans"][0]["name"], root["spans"][0]["type"]) == (
        "Weather.run",
        "AGENT",
        "get_weather",
        "TOOL",
    )


def test_a_stream_ends_when_its_trace_is_found(hosted: RunningService) -> None:
    events = stream(hosted, "agents/echo", "one two")
    names = [event["event"] for event in events]
    assert names == ["RunStarted", "RunContent", "RunContent", "RunContentCompleted", "RunCompleted"]
    assert [event["event_index"] for event in events] == list(range(5))
    assert [event["content"] for event in events if event["event"] == "RunContent"] == ["one ", "two "]
    assert all(event["agent_id"] == "echo" and event["session_id"] for event in events)
    assert trace_of(hosted, events[-1]["run_id"])["trace_id"] == events[-1]["metadata"]["trace_id"]


def test_a_team_and_a_workflow_are_one_trace_each(hosted: RunningService) -> None:
    team = run(hosted, "teams/route", "a b").json()
    assert (team["content"], team["team_id"]) == ("a b ", "route")
    assert [response["agent_id"] for response in team["member_responses"]] == ["words"]
    trace = trace_of(hosted, team["run_id"])
    assert (trace["team_id"], trace["tree"][0]["type"], trace["total_spans"]) == ("route", "TEAM", 2)

    workflow = run(hosted, "workflows/steps", "hello").json()
    assert workflow["content"] == "HELLO \n\nHELLO  "
    assert [step["step_type"] for step in workflow["step_results"]][-1] == "Condition"
    trace = trace_of(hosted, workflow["run_id"])
    assert (trace["workflow_id"], trace["name"]) == ("steps", "Steps.run")
    (root,) = trace["tree"]
    assert root["type"] == "WORKFLOW"
    assert [(node["name"], node["step_type"]) for node in root["spans"]] == [
        ("upper.run", "function"),
        ("say.run", "Step"),
        ("long?.run", "Condition"),
    ]
    assert stream(hosted, "workflows/steps", "hello")[-1]["event"] == "WorkflowCompleted"


@pytest.mark.parametrize("component", ["failing", "leaving"])
def test_an_exception_of_a_component_is_not_revealed(hosted: RunningService, component: str) -> None:
    response = run(hosted, f"agents/{component}")
    assert (response.status_code, response.json()["error_code"]) == (500, "INTERNAL_SERVER_ERROR")
    events = stream(hosted, f"agents/{component}")
    assert events[-1]["event"] == "RunError"
    assert "secret" not in response.text + json.dumps(events)
    trace = trace_of(hosted, events[-1]["run_id"])
    assert trace["status"] == "ERROR"
    assert ("the secret cause" in trace["error"]) == (component == "failing")


def test_nobody_forges_an_event(hosted: RunningService) -> None:
    events = stream(hosted, "agents/forging")
    assert [event["event"] for event in events] == ["RunStarted", "RunContent", "RunContentCompleted", "RunCompleted"]
    form = {"message": "x"}
    with hosted.http.stream("POST", "/agents/forging/runs", data=form) as response:
        assert sum(line.startswith("event:") for line in response.iter_lines()) == 4


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({}, 422),
        ({"message": "x", "stream": "perhaps"}, 422),
        ({"message": "x", "factory_input": "{"}, 400),
        ({"message": "x", "factory_input": "[1]"}, 400),
        ({"message": "x", "output_schema": "{}"}, 400),
        ({"message": "x", "stream_events": "perhaps"}, 422),
        *(({"message": "x", name: "{"}, 400) for name in ("session_state", "dependencies", "metadata")),
        ({"message": "x", "metadata": "[1]"}, 400),
        ({"message": "x", "dependencies": '{"a":' * 70 + "1" + "}" * 70}, 400),
        ({"message": "x" * 1_100_000}, 400),
        ({"message": "x", **{f"f{n}": "x" for n in range(100)}}, 400),
        ({"message": ["x", "y"]}, 422),
    ],
    ids=range(14),
)
def test_a_form_for_an_unsupported_feature_is_rejected(hosted: RunningService, form: Any, status: int) -> None:
    parts = [
        (name, (None, text)) for name, texts in form.items() for text in ([texts] if isinstance(texts, str) else texts)
    ]
    for encoded in ({"data": form}, {"files": parts}):
        response = hosted.http.post("/agents/echo/runs", **encoded)
        assert (response.status_code, set(response.json())) == (status, {"detail", "error_code"}), response.text


def test_an_invalid_form_is_rejected(hosted: RunningService) -> None:
    assert hosted.http.post("/agents/echo/runs", json={"message": "x"}).status_code == 415
    files = {"files": ("a.txt", b"text")}
    assert hosted.http.post("/agents/echo/runs", data={"message": "x"}, files=files).status_code == 400
    form = {"message": (None, "as multipart"), "stream": (None, "false")}
    assert hosted.http.post("/agents/echo/runs", files=form).json()["content"] == "as multipart "


@pytest.mark.parametrize("kind", ["agents", "teams", "workflows"])
def test_an_unknown_component_run_or_session_is_404(hosted: RunningService, kind: str) -> None:
    for method, path in (
        ("POST", f"/{kind}/nothing/runs"),
        ("GET", f"/{kind}/nothing"),
        ("GET", f"/{kind}/nothing/runs?session_id=x"),
        ("GET", f"/{kind}/built/runs/nothing"),
        ("POST", f"/{kind}/built/runs/nothing/continue"),
        ("POST", f"/{kind}/built/runs/nothing/cancel"),
        ("POST", f"/{kind}/built/runs/nothing/resume"),
        ("GET", f"/{kind}/built/runs?session_id=nothing"),
    ):
        response = hosted.http.request(method, path, data={"message": "x"} if method == "POST" else None)
        assert (response.status_code, response.json()["error_code"]) == (404, "NOT_FOUND"), path


def test_runs_and_sessions_are_read(hosted: RunningService) -> None:
    first, second = (run(hosted, "agents/weather", m, session_id="s-read").json() for m in ("a", "b"))
    listed = hosted.http.get("/agents/weather/runs", params={"session_id": "s-read"}).json()
    assert [each["run_id"] for each in listed] == [first["run_id"], second["run_id"]]
    assert hosted.http.get(f"/agents/weather/runs/{first['run_id']}").json()["content"] == first["content"]
    assert hosted.http.get("/agents/weather/runs").status_code == 422
    assert hosted.http.get(f"/agents/echo/runs/{first['run_id']}").status_code == 404
    session = hosted.http.get("/sessions/s-read").json()
    assert (session["session_state"], len(session["chat_history"])) == ({"asked": 2}, 4)
    assert len(hosted.http.get("/sessions/s-read/runs").json()) == 2
    assert "s-read" in [each["session_id"] for each in hosted.http.get("/sessions?type=agent&limit=100").json()["data"]]
    assert hosted.http.delete("/sessions/s-read").status_code == 204
    assert hosted.http.get("/sessions/s-read").status_code == 404
    assert trace_of(hosted, first["run_id"])


def test_hosted_components_are_described(hosted: RunningService) -> None:
    agents = {agent["id"]: agent for agent in hosted.http.get("/agents").json()}
    assert agents["echo"] == {
        "id": "echo",
        "name": "Echo Agent",
        "description": "says it again",
        "is_factory": False,
        "is_component": False,
    }
    assert agents["sized"]["is_factory"] is True
    assert agents["sized"]["factory_input_schema"]["properties"] == {"size": {"type": "integer"}}
    assert hosted.http.get("/agents/sized").json() == agents["sized"]
    assert hosted.http.get("/teams/route").json()["mode"] == "route"
    assert [step["type"] for step in hosted.http.get("/workflows/steps").json()["steps"]] == [
        "function",
        "Step",
        "Condition",
    ]
    info = hosted.http.get("/info").json()
    assert (info["agent_count"], info["team_count"], info["workflow_count"]) == (15, 3, 14)


def test_a_factory_gets_its_input_from_the_documented_member(hosted: RunningService) -> None:
    def calls() -> list[str]:
        found = factory_calls(hosted)[len(before) :]
        before.extend(found)
        return found

    before = factory_calls(hosted)
    given = {"factory_input": '{"size": 2}'}
    assert run(hosted, "agents/sized", "x", **given).json()["content"] == "xx"
    assert calls() == ['sized {"size":2}']
    assert run(hosted, "agents/sized", "x", factory_input='{"size": "2"}').status_code == 400
    assert run(hosted, "agents/sized", "x").status_code == 400
    assert calls() == []

    for component, input_on_continue in (("agents/built-asking", "null"), ("teams/built", "null")):
        paused = run(hosted, component, "x", session_id=f"s-{component[:5]}", **given).json()
        assert paused["status"] == "PAUSED"
        name = "tools" if component.startswith("agents") else "requirements"
        form = {name: '[{"confirmation": true}]', "stream": "false", "factory_input": '{"size": 3}'}
        url = f"/{component}/runs/{paused['run_id']}"
        assert hosted.http.post(f"{url}/continue", data=form).json()["content"] == "x: True"
        assert calls()[-1].endswith(f" {input_on_continue}")
        assert hosted.http.post(f"{url}/cancel").json() == {}
        assert hosted.http.get(url).json()["status"] == "COMPLETED"
        hosted.http.get(f"/{component}/runs", params={"session_id": paused["session_id"]}).raise_for_status()
        hosted.http.get(f"/{component.split('/')[0]}").raise_for_status()
        assert calls() == []

    paused = run(hosted, "workflows/built", "x", **given).json()
    url = f"/workflows/built/runs/{paused['run_id']}"
    assert hosted.http.get(url, params={"factory_input": '{"a": 1}'}).json()["status"] == "PAUSED"
    listed = {"session_id": paused["session_id"], "factory_input": '{"a": 2}'}
    assert len(hosted.http.get("/workflows/built/runs", params=listed).json()) == 1
    form = {"step_requirements": '[{"confirmation": 1}]', "stream": "false", "factory_input": '{"a": 3}'}
    assert hosted.http.post(f"{url}/continue", data=form).json()["content"] == "X: 1"
    assert hosted.http.get(url, params={"factory_input": "[]"}).status_code == 400
    assert [call.removeprefix("workflow ") for call in calls()] == ['{"size":2}', '{"a":1}', '{"a":2}', '{"a":3}']


@pytest.mark.parametrize(
    ("raised", "status"), [("permission", 403), ("factory", 500), ("value", 500), ("exit", 500), ("cancelled", 500)]
)
def test_what_a_factory_raises_has_its_status(hosted: RunningService, raised: str, status: int) -> None:
    response = run(hosted, "agents/raising", factory_input=json.dumps({"raise": raised}))
    assert response.status_code == status
    assert "broken" not in response.text
    assert hosted.http.get("/health").is_success


@pytest.mark.parametrize("factory", ["hanging", "wrong"])
def test_a_factory_past_its_deadline_is_500(hosted: RunningService, factory: str) -> None:
    assert run(hosted, f"agents/{factory}").status_code == 500


def test_a_client_cannot_set_trusted_values(hosted: RunningService) -> None:
    forged = {"claims": '{"sub": "eve"}', "scopes": "agent_os:admin", "trusted": "{}"}
    response = run(hosted, "agents/built", "x", **forged, user_id="ann", headers={**forged, "X-User": "eve"})  # type: ignore[arg-type]
    assert response.json()["content"] == "x ann None {} []"


def test_a_run_continues_when_its_client_disconnects(hosted: RunningService) -> None:
    with hosted.http.stream("POST", "/agents/soon/runs", data={"message": "x"}) as response:
        run_id = next(run_events(response))["run_id"]
    url = f"/agents/soon/runs/{run_id}"
    with hosted.http.stream("POST", f"{url}/resume", headers={"Last-Event-ID": "1"}) as response:
        events = list(run_events(response))
    assert [event["event_index"] for event in events] == [2, 3, 4]
    assert events[-1]["event"] == "RunCompleted"
    assert hosted.http.get(url).json()["content"] == "x done"


def test_a_resumed_run_announces_what_follows(hosted: RunningService) -> None:
    def resumed_events(run_id: str, after: str) -> list[dict[str, Any]]:
        url = f"/agents/soon/runs/{run_id}/resume"
        with hosted.http.stream("POST", url, data={"last_event_index": after}) as response:
            return list(stream_events(response))

    begun = run(hosted, "agents/soon", "x", background="true").json()
    frames = resumed_events(begun["run_id"], "-1")
    names = [frame["event"] for frame in frames]
    assert "subscribed" in names
    assert (names[0] == "catch_up") == ("RunStarted" in names[: names.index("subscribed")])
    assert [frame["event_index"] for frame in frames if "event_index" in frame] == list(range(5))
    for after, missed in ((-1, 5), (1, 3), (4, 0), (9, 0)):
        replayed = resumed_events(begun["run_id"], str(after))
        assert (replayed[0]["event"], replayed[0]["status"]) == ("replay", "COMPLETED")
        assert (replayed[0]["total_events"], replayed[0]["last_event_index_requested"]) == (5, after)
        assert len(replayed) == 1 + missed


@pytest.mark.parametrize("kind", ["agents", "teams", "workflows"])
def test_cancelling_is_idempotent_calls_no_factory_and_is_404_for_unknown_runs(
    hosted: RunningService, kind: str
) -> None:
    before = factory_calls(hosted)
    ended = run(hosted, f"{kind}/built", "x", factory_input="{}").json()
    made = factory_calls(hosted)[len(before) :]
    for _ in range(2):
        assert hosted.http.post(f"/{kind}/built/runs/{ended['run_id']}/cancel").json() == {}
    for path in (f"/{kind}/built/runs/nope/cancel", f"/{kind}/nope/runs/{ended['run_id']}/cancel"):
        assert hosted.http.post(path).status_code == 404
    assert factory_calls(hosted)[len(before) :] == made
    assert len(made) == 1


def test_a_background_run_responds_at_once(hosted: RunningService) -> None:
    begun = run(hosted, "agents/soon", "x", background="true")
    assert (begun.status_code, begun.json()["status"]) == (202, "PENDING")
    url = f"/agents/soon/runs/{begun.json()['run_id']}"
    assert hosted.http.get(url).json()["status"] == "RUNNING"
    with hosted.http.stream("POST", f"{url}/resume", data={"last_event_index": "-1"}) as response:
        assert [event["event_index"] for event in run_events(response)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("component", ["agents/slow", "agents/stubborn", "workflows/slow"])
def test_cancel_ends_a_run_and_stays(hosted: RunningService, component: str) -> None:
    begun = run(hosted, component, "x", background="true").json()
    url = f"/{component}/runs/{begun['run_id']}"
    with ThreadPoolExecutor() as pool:
        following = pool.submit(lambda: hosted.http.post(f"{url}/resume").text)
        time.sleep(0.2)
        assert (hosted.http.post(f"{url}/cancel").status_code, hosted.http.post(f"{url}/cancel").json()) == (200, {})
        assert hosted.http.get(url).json()["status"] == "CANCELLED"
        assert following.result().split("event: ")[-1].split("\n")[0].endswith("Cancelled")
    assert hosted.http.post(f"{url}/continue", data={"stream": "false"}).status_code == 409


def test_a_run_is_continued_once_and_is_one_trace(hosted: RunningService) -> None:
    paused = run(hosted, "agents/asking", "sure", user_id="ann").json()
    assert (paused["status"], len(paused["requirements"])) == ("PAUSED", 1)
    url = f"/agents/asking/runs/{paused['run_id']}/continue"
    form = {"tools": '[{"confirmation": "yes"}]'}
    assert hosted.http.post(url, data={"tools": "{"}).status_code == 400
    for name in ("session_state", "dependencies", "metadata", "fork"):
        assert hosted.http.post(url, data=form | {name: "{}"}).status_code == 400
    with hosted.http.stream("POST", url, data=form) as response:
        events = list(run_events(response))
    assert [events[0]["event"], events[-1]["event"]] == ["RunContinued", "RunCompleted"]
    assert events[0]["event_index"] == 2
    again = hosted.http.post(url, data=form)
    assert (again.status_code, again.json()["detail"]) == (409, "run is already completed")
    trace = trace_of(hosted, paused["run_id"])
    assert (trace["output"], trace["total_spans"], trace["user_id"]) == ("sure: yes", 1, "ann")


def test_a_trace_context_is_linked(hosted: RunningService) -> None:
    caller = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    result = run(hosted, "agents/echo", headers=caller).json()  # type: ignore[arg-type]
    (root,) = trace_of(hosted, result["run_id"])["tree"]
    assert "a" * 32 in json.dumps(root["extra_data"])
    assert result["metadata"]["trace_id"] != "a" * 32


def test_many_runs_of_a_factory_do_not_mix(hosted: RunningService) -> None:
    with ThreadPoolExecutor(16) as pool:
        results = pool.map(lambda n: run(hosted, "agents/built", str(n), user_id=f"u{n}").json(), range(100))
    for n, result in enumerate(results):
        assert (result["content"], result["user_id"], result["agent_id"]) == (
            f"{n} u{n} None {{}} []",
            f"u{n}",
            "built",
        )


def test_unfinished_runs_are_marked_after_a_crash(tmp_path: Path) -> None:
    with start_hosted(tmp_path) as before:
        begun = run(before, "agents/slow", "x", background="true").json()
        paused = run(before, "agents/asking", "sure").json()
        cancelled = run(before, "agents/slow", "x", background="true").json()
        before.http.post(f"/agents/slow/runs/{cancelled['run_id']}/cancel").raise_for_status()
        time.sleep(0.2)
        before.kill()
    with start_hosted(tmp_path) as after:
        url = f"/agents/slow/runs/{begun['run_id']}"
        assert after.http.get(url).json()["status"] == "ERROR"
        with after.http.stream("POST", f"{url}/resume") as response:
            assert [event["event"] for event in run_events(response)] == ["RunStarted", "RunContent", "RunError"]
        assert after.http.get(f"/agents/slow/runs/{cancelled['run_id']}").json()["status"] == "CANCELLED"
        form = {"tools": '[{"confirmation": "yes"}]', "stream": "false"}
        url = f"/agents/asking/runs/{paused['run_id']}/continue"
        assert after.http.post(url, data=form).json()["content"] == "sure: yes"


def test_a_shutdown_marks_unfinished_runs(tmp_path: Path) -> None:
    with start_hosted(tmp_path) as before:
        begun = run(before, "agents/slow", "x", background="true").json()
        assert before.stop() == 0
    with start_hosted(tmp_path) as after:
        found = after.http.get(f"/agents/slow/runs/{begun['run_id']}").json()
        assert (found["status"], found["content"]) == ("ERROR", "the service ended before the run did")
