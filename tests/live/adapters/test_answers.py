"""Answers to paused runs of other frameworks: a run continues only after an answer to everything it waits for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.websocket import open_websocket
from support.services.hosted import run, stream

if TYPE_CHECKING:
    from support.services.process import RunningService

FIELDS = {"agents": "tools", "teams": "requirements", "workflows": "step_requirements"}
CONFIRM = {"confirmed": True, "confirmation": True}
LEFT = {"selected_choices": ["left"]}
CITY = {"user_input_schema": [{"name": "city", "value": "Rome"}]}
PAUSED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "agno's agent": ("agents/ann", "refund", CONFIRM),
    "its tool elsewhere": ("agents/ann", "print", {"result": "printed"}),
    "its form": ("agents/keeper", "travel", CITY),
    "agno's team": ("teams/tim", "refund", CONFIRM),
    "a member of ours": ("teams/mixed", "refund", CONFIRM),
    "a step of ours": ("workflows/mixed-steps", "refund", CONFIRM),
    "pydantic-ai's agent": ("agents/helper", "refund", CONFIRM),
    "a member of pydantic-ai": ("teams/mixed", "refund please", CONFIRM),
    "agno's step": ("workflows/confirmed", "x", CONFIRM),
    "agno's condition": ("workflows/conditional", "x", CONFIRM),
    "agno's router": ("workflows/choosing", "x", LEFT),
    "agno's step with a tool": ("workflows/flow", "refund", CONFIRM),
}
"""A component that pauses, the message that causes the pause, and its answer."""
UNANSWERED: dict[str, Any] = {
    "missing": None,
    "empty": "",
    "no array": "{}",
    "null": "null",
    "no answer": [],
    "empty answer": [{}],
    "null answer": [None],
    "only a decision of another tool": [{"tool_call_id": "other", **CONFIRM}],
    "another requirement": [{"id": "other", "tool_execution": {"tool_call_id": "other", **CONFIRM}}],
    "another step": [{"step_id": "other", "step_name": "other", **CONFIRM}],
    "another index": [{"step_index": 7, **CONFIRM}],
}
"""Values that answer no requirement."""
MISTYPED: dict[str, Any] = dict.fromkeys(
    ("confirmed", "confirmation", "result", "external_execution_result", "selected_choices", "user_input"), 5
)


def _answer(requirement: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Returns a requirement as clients send it back, with the answer at every level."""
    found = {**requirement, **answer}
    if requirement.get("tool_execution"):
        found["tool_execution"] = {**requirement["tool_execution"], **answer}
    if requirement.get("executor_requirements"):
        found["executor_requirements"] = [_answer(each, answer) for each in requirement["executor_requirements"]]
    return found


def _post(service: RunningService, url: str, field: str, answers: object, **fields: str) -> Any:
    text = answers if isinstance(answers, str) else json.dumps(answers)
    return service.http.post(f"{url}/continue", data={**fields, **({} if answers is None else {field: text})})


@pytest.mark.parametrize("name", PAUSED)
def test_without_an_answer_a_run_stays_paused(adapted: RunningService, name: str) -> None:
    component, message, answer = PAUSED[name]
    field = FIELDS[component.split("/")[0]]
    waiting = run(adapted, component, message).json()
    url = f"/{component}/runs/{waiting['run_id']}"
    sent_back = [_answer(each, {}) for each in waiting[field]]
    mistyped = [_answer(each, MISTYPED) for each in waiting[field]]
    for reason, wrong in {**UNANSWERED, "sent back": sent_back, "mistyped": mistyped}.items():
        for streamed in ("false", "true"):
            refused = _post(adapted, url, field, wrong, stream=streamed)
            assert (refused.status_code, refused.json().get("error_code")) == (400, "BAD_REQUEST"), reason
    assert adapted.http.get(url).json()["status"] == "PAUSED"
    answers = [_answer(each, answer) for each in waiting[field]]
    result = _post(adapted, url, field, answers, stream="false").json()
    assert result["status"] == "COMPLETED", result


def test_a_form_and_a_result_reach_the_tool(adapted: RunningService) -> None:
    for message, answer, content in (("travel", CITY, "it is: went to Rome"), ("print", {"result": "a"}, "it is: a")):
        waiting = run(adapted, "agents/ann", message).json()
        answers = [_answer(each, answer) for each in waiting["tools"]]
        url = f"/agents/ann/runs/{waiting['run_id']}"
        assert _post(adapted, url, "tools", answers, stream="false").json()["content"] == content


@pytest.mark.parametrize("named", [{"step_name": "sure"}, {"step_index": 0}, {"step_name": "sure", "step_id": ""}])
@pytest.mark.parametrize(("confirmed", "content"), [(True, "done: x"), (False, "no")])
def test_a_condition_is_answered_by_its_name_or_index(
    adapted: RunningService,
    named: dict[str, Any],
    confirmed: bool,  # noqa: FBT001  # the case
    content: str,
) -> None:
    *_, paused, _ = stream(adapted, "workflows/conditional", "x")
    assert (paused["event"], paused["step_name"], paused["step_index"]) == ("StepPaused", "sure", 0)
    url = f"/workflows/conditional/runs/{paused['run_id']}"
    answers = [{**named, "confirmed": confirmed}]
    result = _post(adapted, url, "step_requirements", answers, stream="false").json()
    assert (result.get("status"), result.get("content")) == ("COMPLETED", content), result


def test_a_condition_is_answered_over_a_socket(adapted: RunningService) -> None:
    with open_websocket(adapted) as socket:
        run_id = socket.run(workflow_id="conditional", message="x")[-1]["run_id"]
        ids = {"workflow_id": "conditional", "run_id": run_id}
        unanswered: list[Any] = [[], [{}], [{"step_name": "sure"}], [{"step_name": "other", "confirmed": True}]]
        for wrong in unanswered:
            assert socket.request("continue-workflow", **ids, step_requirements=wrong)["error_code"] == "BAD_REQUEST"
        answers = [{"step_name": "sure", "confirmed": True}]
        ended = socket.run("continue-workflow", **ids, step_requirements=answers)[-1]
    assert (ended["event"], ended["content"]) == ("WorkflowCompleted", "done: x")
