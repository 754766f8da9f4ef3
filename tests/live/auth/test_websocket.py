"""WebSockets with authorization: handshake, scopes, visibility of runs, and expiry."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import InvalidStatus

from support.clients.tokens import as_caller, bearer, claims, jwks_file, signing_key
from support.clients.websocket import open_websocket
from support.services.hosted import start_hosted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.clients.websocket import WebSocketClient
    from support.services.process import RunningService

RUNNING = ("workflows:run",)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("guarded")
    flags = ("--authorization", "--max-websockets-per-user", "2")
    with start_hosted(folder, *flags, JWT_JWKS_FILE=jwks_file(folder)) as service:
        yield service
        assert service.stop() == 0


def token(sub: str, *scopes: str, **more: object) -> str:
    return signing_key().sign({**claims(sub, *scopes), **more})


def expired() -> str:
    return token("ann", *RUNNING, exp=int(time.time()) - 60)


def forged() -> str:
    return token("ann", *RUNNING)[:-8] + "AAAAAAAA"


BAD_HEADERS = {
    "forged": lambda: bearer(forged()),
    "expired": lambda: bearer(expired()),
    "no bearer": lambda: {"Authorization": token("ann", *RUNNING)},
    "empty": lambda: {"Authorization": ""},
    "no subject": lambda: bearer(token("", *RUNNING)),
}


@pytest.mark.parametrize("case", BAD_HEADERS)
def test_a_bad_token_in_the_handshake_is_401_before_the_upgrade(guarded: RunningService, case: str) -> None:
    with pytest.raises(InvalidStatus) as rejected, open_websocket(guarded, headers=BAD_HEADERS[case]()):
        pass
    response = rejected.value.response
    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert json.loads(response.body)["error_code"] == "UNAUTHENTICATED"


def test_a_good_token_in_the_handshake_is_enough(guarded: RunningService) -> None:
    with open_websocket(guarded, headers=as_caller("handshake", *RUNNING)) as socket:
        assert socket.greeting["requires_auth"] is False
        assert socket.run(workflow_id="steps", message="hello")[-1]["event"] == "WorkflowCompleted"


ACTIONS = [
    {"action": "ping"},
    {"action": "start-workflow", "workflow_id": "steps", "message": "x"},
    {"action": "reconnect", "run_id": "x"},
    {"action": "cancel-workflow", "run_id": "x"},
    {"action": "nothing"},
    {"token": "x"},
]


def test_without_a_token_only_authenticate_is_accepted(guarded: RunningService) -> None:
    with open_websocket(guarded, f"/workflows/ws?token={token('ann', *RUNNING)}") as socket:
        assert socket.greeting["requires_auth"] is True
        for message in ACTIONS:
            socket.connection.send(json.dumps(message))
            assert socket.receive()["event"] == "auth_required"
        authenticated = socket.request("authenticate", token=token("first", *RUNNING))
        assert (authenticated["event"], authenticated["user_id"]) == ("authenticated", "first")
        assert socket.request("ping") == {"event": "pong"}


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("", "invalid_token"),
        (None, "invalid_token"),
        (["x"], "invalid_token"),
        ("forged", "invalid_token"),
        ("expired", "expired"),
    ],
    ids=str,
)
def test_three_failures_end_the_socket(guarded: RunningService, given: Any, kind: str) -> None:
    sent = {"forged": forged, "expired": expired}.get(given, lambda: given)() if isinstance(given, str) else given
    with open_websocket(guarded) as socket:
        for _ in range(3):
            rejected = socket.request("authenticate", token=sent)
            assert (rejected["event"], rejected["error_type"]) == ("auth_error", kind)
            assert "eyJ" not in json.dumps(rejected)
        assert socket.close_code() == 1008


def test_an_unauthenticated_socket_is_closed(guarded: RunningService) -> None:
    with open_websocket(guarded) as socket:
        begun = time.monotonic()
        assert socket.close_code() == 1008
        assert time.monotonic() - begun > 8


@pytest.mark.parametrize(
    ("scopes", "is_allowed"),
    [
        ((), False),
        (("workflows:read",), False),
        (("agents:run",), False),
        (("workflows:slow:run",), False),
        (("workflows:steps:run",), True),
        (("workflows:*:run",), True),
        (("agent_os:admin",), True),
    ],
)
def test_an_action_needs_the_scope(guarded: RunningService, scopes: tuple[str, ...], is_allowed: bool) -> None:  # noqa: FBT001  # a column of the table
    with open_websocket(guarded, headers=as_caller("scoped", *scopes)) as socket:
        last = socket.run(workflow_id="steps", message="hello")[-1]
        assert last.get("error_code", "none") == ("none" if is_allowed else "FORBIDDEN")
        unknown = socket.run(workflow_id="no-such", message="hello")[-1]
        may_know = scopes in {("workflows:*:run",), ("agent_os:admin",)}
        assert unknown["error_code"] == ("NOT_FOUND" if may_know else "FORBIDDEN")


def test_the_verified_identity_wins(guarded: RunningService) -> None:
    with open_websocket(guarded, headers=as_caller("winner", *RUNNING, "workflows:read")) as socket:
        forged: dict[str, Any] = {"claims": {"sub": "eve"}, "scopes": ["agent_os:admin"], "trusted": {}}
        last = socket.run(workflow_id="told", message="x", user_id="eve", session_id="s-winner", **forged)[-1]
        url = f"/workflows/told/runs/{last['run_id']}"
        found = guarded.http.get(url, headers=as_caller("winner", *RUNNING)).json()
        assert (found["user_id"], found["session_id"]) == ("winner", "s-winner")
    assert "the user_id of the form differs from the verified one" in guarded.log.read_text()


def test_a_caller_touches_only_its_own_runs(guarded: RunningService) -> None:
    with (
        open_websocket(guarded, headers=as_caller("owner", *RUNNING)) as own,
        open_websocket(guarded, headers=as_caller("other", *RUNNING)) as other,
        open_websocket(guarded, headers=as_caller("root", "agent_os:admin")) as admin,
    ):
        paused = own.run(workflow_id="built", message="x", session_id="s-owner")[-1]
        for run_id in (paused["run_id"], "no"):
            for action in ("reconnect", "continue-workflow", "cancel-workflow"):
                for ids in ({}, {"workflow_id": "built"}):
                    rejected = other.request(action, run_id=run_id, **ids)
                    assert (rejected["event"], rejected["error_code"]) == ("error", "NOT_FOUND")
        run = other.run(workflow_id="told", message="x", session_id="s-owner")[-1]  # in its own session
        url = "/sessions/s-owner/runs"
        (found,) = guarded.http.get(url, headers=as_caller("other", *RUNNING, "sessions:read")).json()
        assert found["run_id"] == run["run_id"]
        assert admin.request("reconnect", run_id=paused["run_id"])["status"] == "PAUSED"
        assert own.request("reconnect", run_id=paused["run_id"])["status"] == "PAUSED"


def test_another_identity_receives_nothing_of_the_one_before(guarded: RunningService) -> None:
    with open_websocket(guarded, headers=as_caller("before", *RUNNING)) as socket:
        socket.send("start-workflow", workflow_id="soon", message="x")
        run_id = socket.receive()["run_id"]
        while socket.receive()["event"] != "RunContent":
            pass
        assert socket.request("authenticate", token=token("after", *RUNNING))["user_id"] == "after"
        assert socket.request("reconnect", run_id=run_id)["error_code"] == "NOT_FOUND"
        assert nothing_for(socket, 1.5)
        assert socket.request("authenticate", token=token("before", *RUNNING))["user_id"] == "before"
        assert socket.request("reconnect", run_id=run_id)["status"] == "COMPLETED"


def nothing_for(socket: WebSocketClient, seconds: float) -> bool:
    try:
        return bool(socket.receive(seconds)) and False
    except TimeoutError:
        return True


def test_an_expired_token_ends_the_subscriptions_of_its_socket(guarded: RunningService) -> None:
    soon = token("brief", *RUNNING, exp=int(time.time()) - 7)  # three of the ten seconds of leeway are left
    with open_websocket(guarded, headers=bearer(soon)) as socket:
        socket.send("start-workflow", workflow_id="slow", message="x")
        run_id = socket.receive()["run_id"]
        while (received := socket.receive())["event"] != "auth_error":
            pass
        assert received["error_type"] == "expired"
        assert socket.request("ping")["event"] == "auth_required"
        assert socket.request("authenticate", token=token("brief", *RUNNING))["event"] == "authenticated"
        assert socket.request("cancel-workflow", run_id=run_id)["event"] == "cancelled"


def test_one_socket_of_a_user_too_many(guarded: RunningService) -> None:
    header = as_caller("many", *RUNNING)
    with ExitStack() as sockets:
        for _ in range(2):
            sockets.enter_context(open_websocket(guarded, headers=header))
        with pytest.raises(InvalidStatus) as rejected, open_websocket(guarded, headers=header):
            pass
        assert rejected.value.response.status_code == 503
        late = sockets.enter_context(open_websocket(guarded))
        assert late.request("authenticate", token=token("many"))["error_type"] == "server_error"
        assert late.close_code() == 1013
        sockets.enter_context(open_websocket(guarded, headers=as_caller("few", *RUNNING)))


def test_decisions_are_audited_and_tokens_are_not(guarded: RunningService) -> None:
    with open_websocket(guarded, headers=as_caller("audited", "workflows:steps:run")) as socket:
        socket.run(workflow_id="steps", message="hello")
        socket.run(workflow_id="slow", message="hello")
    log = guarded.log.read_text()
    lines = [event for event in guarded.events() if "decision" in event]
    mine = [line for line in lines if line.get("sub") == "audited"]
    assert [(line["method"], line["resource"], line["decision"]) for line in mine] == [
        ("WS", "steps", "allowed"),
        ("WS", "slow", "forbidden"),
    ]
    assert "eyJ" not in log
