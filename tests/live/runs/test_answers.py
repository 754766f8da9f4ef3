"""Answers to paused runs: a run continues only after an answer to everything it waits for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.websocket import open_websocket
from support.services.hosted import run, run_events, start_hosted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.services.process import RunningService

FIELDS = {"agents": "tools", "teams": "requirements", "workflows": "step_requirements"}
REFUND = {"confirmation": True}
ROOM, DAY = {"id": "room", "text": "7"}, {"id": "day", "text": "Monday"}
COMPONENTS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "agents/refund": ([REFUND], "refunded"),
    "agents/book": ([DAY, ROOM], "x: room 7 on Monday"),
    "teams/all": ([DAY, ROOM, REFUND], "refunded\n\nx: room 7 on Monday"),
    "teams/one": ([ROOM, {"text": "Monday"}], "x: room 7 on Monday"),
    "workflows/steps": ([REFUND], "REFUNDED"),
    "workflows/nested": ([REFUND, ROOM, DAY], "refunded\n\nx: room 7 on Monday"),
}
"""Valid answers to each component, and its response to them."""
UNANSWERED: dict[str, Any] = {
    "missing": None,
    "empty": "",
    "no array": "{}",
    "no JSON": "[",
    "null": "null",
    "text": '"x"',
    "no answer": [],
    "empty answer": [{}],
    "null answer": [None],
    "number": [1],
    "array": [[]],
    "nothing said": [{"confirmation": None, "text": None}],
    "unknown id": [{"id": "other", "confirmation": True}],
    "another tool": [{"tool_call_id": "other", "confirmed": True}],
    "another requirement": [{"tool_execution": {"tool_call_id": "other", "confirmed": True}}],
    "another index": [{"step_index": 7, "confirmation": True}],
    "another step": [{"step_id": "other", "confirmed": True}],
    "too many": [REFUND] * 4,
}


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with start_hosted(tmp_path_factory.mktemp("paused"), module="support.apps.paused") as running:
        yield running
        assert running.stop() == 0


def _form(component: str, answers: object) -> dict[str, str]:
    if answers is None:
        return {}
    return {FIELDS[component.split("/", maxsplit=1)[0]]: answers if isinstance(answers, str) else json.dumps(answers)}


def expect_continuable(service: RunningService, component: str, run_id: str) -> None:
    """Checks that a run is still paused, and completes with valid answers."""
    url = f"/{component}/runs/{run_id}"
    assert service.http.get(url).json()["status"] == "PAUSED"
    answers, content = COMPONENTS[component]
    result = service.http.post(f"{url}/continue", data=_form(component, answers) | {"stream": "false"}).json()
    assert (result.get("status"), result.get("content")) == ("COMPLETED", content), result


@pytest.mark.parametrize("component", COMPONENTS)
def test_without_an_answer_a_run_stays_paused(paused: RunningService, component: str) -> None:
    run_id = run(paused, component, "x").json()["run_id"]
    url = f"/{component}/runs/{run_id}/continue"
    for name, answers in UNANSWERED.items():
        for stream in ("false", "true"):
            refused = paused.http.post(url, data=_form(component, answers) | {"stream": stream})
            assert (refused.status_code, refused.json()["error_code"]) == (400, "BAD_REQUEST"), name
    expect_continuable(paused, component, run_id)


@pytest.mark.parametrize("component", ["agents/book", "teams/all", "workflows/nested"])
def test_every_requirement_is_answered_once(paused: RunningService, component: str) -> None:
    waiting = run(paused, component, "x").json()
    url = f"/{component}/runs/{waiting['run_id']}/continue"
    sent_back = waiting.get("requirements") or waiting["step_requirements"]
    for answers in ([ROOM], [ROOM, ROOM, REFUND], [ROOM, DAY, {**DAY, "text": "Friday"}, REFUND], sent_back):
        refused = paused.http.post(url, data=_form(component, answers) | {"stream": "false"})
        assert refused.status_code == 400
    missing = paused.http.post(url, data=_form(component, [ROOM]) | {"stream": "false"})
    assert missing.json()["detail"].endswith("` of the run is not answered")
    expect_continuable(paused, component, waiting["run_id"])


def test_a_requirement_that_is_sent_back_with_an_answer_in_it_is_one(paused: RunningService) -> None:
    waiting = run(paused, "teams/all", "x").json()
    answers = [{**each, "text": each["question"], "confirmation": False} for each in reversed(waiting["requirements"])]
    form = {"requirements": json.dumps(answers)}
    with paused.http.stream("POST", f"/teams/all/runs/{waiting['run_id']}/continue", data=form) as response:
        *_, last = run_events(response)
    assert last["content"] == "kept\n\nx: room Which room? on Which day?"


@pytest.mark.parametrize("component", ["workflows/steps", "workflows/nested"])
def test_without_an_answer_over_a_socket_a_run_stays_paused(paused: RunningService, component: str) -> None:
    workflow_id = component.split("/")[1]
    with open_websocket(paused) as socket:
        ids = {"workflow_id": workflow_id, "run_id": socket.run(workflow_id=workflow_id, message="x")[-1]["run_id"]}
        for name, answers in UNANSWERED.items():
            given = {} if answers is None else {"step_requirements": answers}
            refused = socket.request("continue-workflow", **ids, **given)
            assert (refused["event"], refused["error_code"]) in {
                ("error", "BAD_REQUEST"),
                ("error", "VALIDATION_ERROR"),
            }, name
        answers, content = COMPONENTS[component]
        ended = socket.run("continue-workflow", **ids, step_requirements=answers)[-1]
    assert (ended["event"], ended["content"]) == ("WorkflowCompleted", content)


@pytest.mark.parametrize("component", COMPONENTS)
def test_an_answer_that_the_component_cannot_read_does_not_end_the_run(paused: RunningService, component: str) -> None:
    waiting = run(paused, component, "x").json()
    url = f"/{component}/runs/{waiting['run_id']}"
    requirements = waiting.get("requirements") or waiting["step_requirements"]
    form = _form(component, [{"id": each["id"], "comment": "later"} for each in requirements])
    refused = paused.http.post(f"{url}/continue", data=form | {"stream": "false"})
    assert (refused.status_code, refused.json()["error_code"]) == (400, "BAD_REQUEST")
    assert "has no member `" in refused.json()["detail"]
    with paused.http.stream("POST", f"{url}/continue", data=form) as response:
        *_, last = run_events(response)
    assert last["event"].endswith("Paused")
    again = paused.http.get(url).json()
    for name in ("content", "requirements", "step_requirements"):
        assert again.get(name) == waiting.get(name)
    expect_continuable(paused, component, waiting["run_id"])


@pytest.mark.parametrize("named", [{"step_name": "refund"}, {"step_index": 0}])
def test_a_step_is_answered_by_its_name_or_index(paused: RunningService, named: dict[str, Any]) -> None:
    run_id = run(paused, "workflows/steps", "x").json()["run_id"]
    form = _form("workflows/steps", [named | REFUND]) | {"stream": "false"}
    assert paused.http.post(f"/workflows/steps/runs/{run_id}/continue", data=form).json()["content"] == "REFUNDED"
