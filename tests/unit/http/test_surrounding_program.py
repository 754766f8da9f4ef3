"""A service inside a program whose middleware verifies callers: HTTP and WebSocket, with our authorization off."""

from __future__ import annotations

import json
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from spanwise import Agent, AgentFactory, RequestContext, Service, Workflow, WorkflowFactory
from support.clients.tokens import as_caller, signing_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

VERIFIED = {"alice": {"claims": {"sub": "alice", "roles": ["a"]}, "scopes": ["x:y"], "session_id": "alices"}}


class Verifier:
    """Middleware of a program that treats the user in a header as verified."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in {"http", "websocket"}:
            user = dict(scope["headers"]).get(b"x-verified", b"").decode()
            if user:
                scope.setdefault("state", {}).update({"user_id": user, **VERIFIED.get(user, {})})
        await self._app(scope, receive, send)


def describe(context: RequestContext) -> str:
    trusted = context.trusted
    return json.dumps([context.user_id, context.session_id, dict(trusted.claims), sorted(trusted.scopes)])


def build_agent(context: RequestContext) -> Agent:
    return Agent(lambda _message: describe(context))


def build_workflow(context: RequestContext) -> Workflow:
    return Workflow([lambda _message: describe(context)])


def service_in(folder: Path, **options: Any) -> Service:
    return Service(
        agents=[AgentFactory("seen", object(), build_agent), Agent(str.upper, id="upper")],
        workflows=[WorkflowFactory("seen", object(), build_workflow)],
        traces=folder / "traces",
        db=folder / "runs.db",
        **options,
    )


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    service = service_in(tmp_path, callers="open")
    with TestClient(Verifier(service.app), base_url="http://localhost") as found:
        yield found


def run(client: TestClient, user: str | None = None, component: str = "agents/seen", **fields: str) -> Any:
    headers = {"X-Verified": user} if user else {}
    response = client.post(f"/{component}/runs", data={"message": "m", "stream": "false", **fields}, headers=headers)
    assert response.status_code == 200, response.text
    return response.json()


ALICES = ["alice", "alices", {"sub": "alice", "roles": ["a"]}, ["x:y"]]
FORGED = {"user_id": "mallory", "session_id": "others"}


def test_a_form_never_wins_over_what_was_verified(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "spanwise"):
        result = run(client, "alice", **FORGED)
    assert json.loads(result["content"]) == ALICES
    assert (result["user_id"], result["session_id"]) == ("alice", "alices")
    warnings = [record.getMessage() for record in caplog.records if "differs from the verified" in record.getMessage()]
    assert [warning.split()[1] for warning in warnings] == ["user_id", "session_id"]
    created = client.post("/sessions", json=FORGED | {"session_id": "mine"}, headers={"X-Verified": "bob"}).json()
    assert (created["user_id"], created["session_id"]) == ("bob", "mine")


def test_a_verified_caller_may_name_any_host(client: TestClient) -> None:
    elsewhere = {"Host": "agents.example.org", "Origin": "https://app.example.org"}
    form = {"message": "m", "stream": "false"}
    for headers, status in ((elsewhere | {"X-Verified": "alice"}, 200), (elsewhere, 403)):
        assert client.post("/agents/upper/runs", data=form, headers=headers).status_code == status
        assert client.get("/sessions", headers=headers).status_code == status


def test_what_was_not_verified_comes_from_the_form(client: TestClient) -> None:
    assert json.loads(run(client, **FORGED)["content"]) == ["mallory", "others", {}, []]
    bobs = run(client, "bob", user_id="mallory", session_id="given")
    assert json.loads(bobs["content"]) == ["bob", "given", {}, []]


def test_a_verified_user_sees_only_its_own(client: TestClient) -> None:
    alices, bobs = (run(client, user, "agents/upper") for user in ("alice", "bob"))
    alice = {"X-Verified": "alice"}
    path = "/agents/upper/runs"
    assert client.get(f"{path}/{alices['run_id']}", headers=alice).status_code == 200
    assert client.get(f"{path}/{bobs['run_id']}", headers=alice).status_code == 404
    assert client.post(f"{path}/{bobs['run_id']}/cancel", headers=alice).status_code == 404
    sessions = client.get("/sessions", headers=alice).json()["data"]
    assert [each["session_id"] for each in sessions] == ["alices"]
    found = client.post("/traces/search", json={}, headers=alice).json()["data"]
    assert {each["user_id"] for each in found} == {"alice"}
    assert client.get("/sessions").json()["meta"]["total_count"] == 2
    assert {each["id"] for each in client.get("/agents", headers=alice).json()} == {"seen", "upper"}
    assert client.get("/config", headers=alice).status_code == 200


def test_a_socket_keeps_the_caller_of_its_handshake(client: TestClient) -> None:
    with client.websocket_connect("/workflows/ws", headers={"X-Verified": "alice"}) as socket:
        assert socket.receive_json()["requires_auth"] is False
        socket.send_json({"action": "authenticate", "token": "anything"})
        assert socket.receive_json()["user_id"] == "alice"
        socket.send_json({"action": "start-workflow", "workflow_id": "seen", "message": "m", **FORGED})
        while (event := socket.receive_json())["event"] != "WorkflowCompleted":
            assert event["event"] != "error", event
        assert json.loads(event["content"]) == ALICES
        run_id = run(client, "bob", "workflows/seen")["run_id"]
        socket.send_json({"action": "reconnect", "run_id": run_id})
        assert "not found" in socket.receive_json()["error"]
        socket.send_bytes(b"ends it")
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert closed.value.code == 1003


def test_with_authorization_only_the_token_counts(tmp_path: Path) -> None:
    settings = {"jwt_verification_key": signing_key().public_text}
    service = service_in(tmp_path, authorization=True, settings=settings)
    with TestClient(Verifier(service.app), base_url="http://localhost") as client:
        assert client.get("/agents", headers={"X-Verified": "alice"}).status_code == 401
        headers = {"X-Verified": "alice", **as_caller("carol", "agents:run")}
        response = client.post("/agents/seen/runs", data={"message": "m", "stream": "false"}, headers=headers)
        seen = json.loads(response.json()["content"])
        assert (seen[0], seen[2]["sub"], seen[3]) == ("carol", "carol", ["agents:run"])


def test_a_member_of_another_type_is_500_and_its_cause_is_logged(
    client: TestClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VERIFIED, "dan", {"claims": "sub=dan"})
    response = client.get("/agents", headers={"X-Verified": "dan"})
    assert (response.status_code, response.json()["error_code"]) == (500, "INTERNAL_SERVER_ERROR")
    assert "claims" not in response.text
    assert "`request.state.claims`: expected a mapping, got `str`" in caplog.text


def test_mounted_in_an_application_it_is_the_same(tmp_path: Path) -> None:
    service = service_in(tmp_path)

    @asynccontextmanager
    async def lifespan(_application: Starlette) -> AsyncIterator[None]:
        await service.open()
        yield
        await service.close()

    program = Starlette(routes=[Mount("/ai", service.app)], middleware=[Middleware(Verifier)], lifespan=lifespan)
    with TestClient(program, base_url="http://localhost") as client:
        assert json.loads(run(client, "alice", "ai/agents/seen", **FORGED)["content"]) == ALICES


class Sharing:
    """A program whose lifespan shares state with all requests, including members that look like an identity."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            scope["state"].update(user_id="the user of the database", scopes=["agent_os:admin"], pool="pool")
        await self._app(scope, receive, send)


def test_the_state_of_a_lifespan_is_nobodys_identity(tmp_path: Path) -> None:
    service = service_in(tmp_path, callers="open")
    with TestClient(Verifier(Sharing(service.app)), base_url="http://localhost") as client:
        assert json.loads(run(client, user_id="ann", session_id="s")["content"]) == ["ann", "s", {}, []]
        assert json.loads(run(client, "alice", **FORGED)["content"]) == ALICES
        bobs = json.loads(run(client, "bob", session_id="s2")["content"])
        assert bobs == ["bob", "s2", {}, []]
