"""The state of sessions in agno's databases, compared with agno's own service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from agno.os import AgentOS
from fastapi.testclient import TestClient

from support.apps.agno_sessions import hosted as objects_over

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from support.services.process import RunningService

DATABASES = {"agents/async-counter": "kept-async"}
KEPT = ["agents/counter", "agents/async-counter", "teams/tally", "workflows/steps"]
HERE = ["agents/built", "teams/outer"]
"""Components that agno's own service lacks."""


@pytest.fixture(scope="module")
def agnos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Agno's own service with the same objects."""
    objects = objects_over(tmp_path_factory.mktemp("agnos"))
    system = AgentOS(agents=objects["agents"], teams=objects["teams"], workflows=objects["workflows"], telemetry=False)
    with TestClient(system.get_app()) as client:
        yield client


class Conversation:
    """One session with one component."""

    def __init__(self, http: Any, component: str, session_id: str) -> None:
        self.http = http
        self.component = component
        self.id = session_id
        self.type, self.component_id = component.split("s/", 1)
        self.query: dict[str, str] = {"type": self.type}
        if not hasattr(http, "app"):
            return
        self.query["db_id"] = DATABASES.get(component, "kept")

    def create(self, **members: Any) -> Any:
        body = {"session_id": self.id, f"{self.type}_id": self.component_id, "user_id": "u", **members}
        response = self.http.post("/sessions", params=self.query, json=body)
        assert response.status_code == 201, response.text
        return response.json().get("session_state")

    def patch(self, state: dict[str, Any]) -> Any:
        response = self.http.patch(f"/sessions/{self.id}", params=self.query, json={"session_state": state})
        assert response.status_code == 200, response.text
        return response.json()["session_state"]

    @property
    def detail(self) -> Any:
        response = self.http.get(f"/sessions/{self.id}", params=self.query)
        assert response.status_code == 200, response.text
        return response.json()

    @property
    def state(self) -> Any:
        return self.detail["session_state"]

    def run(self, message: str = "count", **fields: str) -> httpx.Response:
        form = {"message": message, "stream": "false", "session_id": self.id, "user_id": "u", **fields}
        response: httpx.Response = self.http.post(f"/{self.component}/runs", data=form)
        return response

    def content(self, message: str = "count", **fields: str) -> str:
        response = self.run(message, **fields)
        assert response.status_code == 200, response.text
        content: str = response.json()["content"]
        return content.rpartition(": ")[2]


def changes(conversation: Conversation) -> list[Any]:
    """Returns the state of a session and the state that its runs saw, step by step."""
    return [
        conversation.create(session_state={"k": 1, "of": {"a": [1]}}),
        conversation.content(),
        conversation.state,
        conversation.patch({"k": 10}),
        conversation.content(),
        conversation.content(session_state='{"k": 20, "extra": 1}'),
        conversation.state,
        conversation.patch({}),
        conversation.content(),
        conversation.state,
    ]


EXPECTED = [
    {"k": 1, "of": {"a": [1]}},
    "k is 2",
    {"k": 2, "of": {"a": [1]}},
    {"k": 10},
    "k is 11",
    "k is 21",
    {"k": 21, "extra": 1},
    {},
    "k is 1",
    {"k": 1},
]


@pytest.mark.parametrize("component", [*KEPT, *HERE, "agents/own"])
def test_a_run_starts_with_the_state_that_was_set(keeping: RunningService, component: str) -> None:
    assert changes(Conversation(keeping.http, component, f"set-{component.replace('/', '-')}")) == EXPECTED


@pytest.mark.parametrize("component", KEPT)
def test_agnos_own_service_does_the_same(agnos: TestClient, component: str) -> None:
    assert changes(Conversation(agnos, component, f"set-{component.replace('/', '-')}")) == EXPECTED


def paused_changes(conversation: Conversation) -> list[Any]:
    conversation.create(session_state={"k": 1})
    paused = conversation.run("confirm").json()
    assert paused["status"] == "PAUSED", paused
    conversation.patch({"k": 5})
    field, answers = _answers(conversation.type, paused)
    form = {field: answers, "stream": "false", "session_id": conversation.id, "user_id": "u"}
    url = f"/{conversation.component}/runs/{paused['run_id']}/continue"
    response = conversation.http.post(url, data=form)
    assert response.status_code == 200, response.text
    return [response.json()["content"].rpartition(": ")[2], conversation.state]


def _answers(kind: str, paused: dict[str, Any]) -> tuple[str, str]:
    if kind == "agent":
        return "tools", json.dumps([{**each, "confirmed": True} for each in paused["tools"]])
    name = "requirements" if kind == "team" else "step_requirements"
    found = []
    for each in paused[name]:
        answer = {**each, "confirmation": True} if kind == "team" else {**each, "confirmed": True}
        if kind == "team":
            answer["tool_execution"] = {**each["tool_execution"], "confirmed": True}
        found.append(answer)
    return name, json.dumps(found)


@pytest.mark.parametrize("component", ["agents/counter", "agents/async-counter", "teams/tally", "workflows/asking"])
def test_a_continued_run_starts_with_the_state_that_was_set_while_it_paused(
    keeping: RunningService, component: str
) -> None:
    assert paused_changes(Conversation(keeping.http, component, f"paused-{component.replace('/', '-')}")) == [
        "k is 6",
        {"k": 6},
    ]


@pytest.mark.parametrize("component", ["agents/counter", "teams/tally"])
def test_a_session_has_the_metrics_that_agno_has(keeping: RunningService, agnos: TestClient, component: str) -> None:
    found = []
    for http in (keeping.http, agnos):
        conversation = Conversation(http, component, f"measured-{component.replace('/', '-')}")
        conversation.create(session_state={"k": 1})  # without this call agno forgets the metrics of the first run
        assert conversation.detail.get("total_tokens") is None
        conversation.content()
        conversation.content()
        detail = conversation.detail
        counts = {name: value for name, value in detail["metrics"].items() if name.endswith("_tokens")}
        found.append((counts, detail["total_tokens"]))
    assert found[0] == found[1]
    assert found[0][1] > 0
