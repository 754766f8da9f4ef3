"""Sockets with authorization on: who may open one, what it may ask for, whose runs it sees, and for how long."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from support.callers import as_caller, bearing, claims, jwks_file, signing_key
from support.hosted_service import hosting
from support.websockets import opened
from websockets.exceptions import InvalidStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.service import Running
    from support.websockets import Socket

RUNNING = ("workflows:run",)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("guarded")
    flags = ("--authorization", "--max-websockets-per-user", "2")
    with hosting(folder, *flags, JWT_JWKS_FILE=jwks_file(folder)) as service:
        yield service
        assert service.stop() == 0


def token(sub: str, *scopes: str, **more: object) -> str:
    return signing_key().sign({**claims(sub, *scopes), **more})


def expired() -> str:
    return token("ann", *RUNNING, exp=int(time.time()) - 60)


def forged() -> str:
    return token("ann", *RUNNING)[:-8] + "AAAAAAAA"


BAD_HEADERS = {
    "forged": lambda: bearing(forged()),
    "expired": lambda: bearing(expired()),
    "no bearer": lambda: {"Authorization": token("ann", *RUNNING)},
    "empty": lambda: {"Authorization": ""},
    "no subject": lambda: bearing(token("", *RUNNING)),
}


@pytest.mark.parametrize("case", BAD_HEADERS)
def test_a_bad_token_in_the_handshake_is_401_before_the_upgrade(guarded: Running, case: str) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(guarded, headers=BAD_HEADERS[case]()):
        pass
    answer = refused.value.response
    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert json.loads(answer.body)["error_code"] == "UNAUTHENTICATED"


def test_a_good_token_in_the_handshake_needs_no_other(guarded: Running) -> None:
    with opened(guarded, headers=as_caller("handshake", *RUNNING)) as socket:
        assert socket.greeting["requires_auth"] is False
        assert socket.run(workflow_id="steps", message="hello")[-1]["event"] == "WorkflowCompleted"


ASKED = [
    {"action": "ping"},
    {"action": "start-workflow", "workflow_id": "steps", "message": "x"},
    {"action": "reconnect", "run_id": "x"},
    {"action": "cancel-workflow", "run_id": "x"},
    {"action": "nothing"},
    {"token": "x"},
]


def test_without_a_token_only_authenticate_is_read(guarded: Running) -> None:
    with opened(guarded, f"/workflows/ws?token={token('ann', *RUNNING)}") as socket:
        assert socket.greeting["requires_auth"] is True
        for message in ASKED:
            socket.connection.send(json.dumps(message))
            assert socket.heard()["event"] == "auth_required"
        known = socket.ask("authenticate", token=token("first", *RUNNING))
        assert (known["event"], known["user_id"]) == ("authenticated", "first")
        assert socket.ask("ping") == {"event": "pong"}


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
def test_three_failures_end_the_socket(guarded: Running, given: Any, kind: str) -> None:
    sent = {"forged": forged, "expired": expired}.get(given, lambda: given)() if isinstance(given, str) else given
    with opened(guarded) as socket:
        for _ in range(3):
            refused = socket.ask("authenticate", token=sent)
            assert (refused["event"], refused["error_type"]) == ("auth_error", kind)
            assert "eyJ" not in json.dumps(refused)
        assert socket.close_code() == 1008


def test_a_socket_that_nobody_authenticates_is_closed(guarded: Running) -> None:
    with opened(guarded) as socket:
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
def test_an_action_needs_the_scope(guarded: Running, scopes: tuple[str, ...], is_allowed: bool) -> None:  # noqa: FBT001  # a column of the table
    with opened(guarded, headers=as_caller("scoped", *scopes)) as socket:
        last = socket.run(workflow_id="steps", message="hello")[-1]
        assert last.get("error_code", "none") == ("none" if is_allowed else "FORBIDDEN")
        unknown = socket.run(workflow_id="no-such", message="hello")[-1]
        may_know = scopes in {("workflows:*:run",), ("agent_os:admin",)}
        assert unknown["error_code"] == ("NOT_FOUND" if may_know else "FORBIDDEN")


def test_the_verified_identity_wins(guarded: Running) -> None:
    with opened(guarded, headers=as_caller("winner", *RUNNING, "workflows:read")) as socket:
        forged: dict[str, Any] = {"claims": {"sub": "eve"}, "scopes": ["agent_os:admin"], "trusted": {}}
        last = socket.run(workflow_id="told", message="x", user_id="eve", session_id="s-winner", **forged)[-1]
        url = f"/workflows/told/runs/{last['run_id']}"
        found = guarded.http.get(url, headers=as_caller("winner", *RUNNING)).json()
        assert (found["user_id"], found["session_id"]) == ("winner", "s-winner")
    assert "the form's user_id differs from the verified one" in guarded.log.read_text()


def test_a_caller_touches_only_its_own_runs(guarded: Running) -> None:
    with (
        opened(guarded, headers=as_caller("owner", *RUNNING)) as own,
        opened(guarded, headers=as_caller("other", *RUNNING)) as other,
        opened(guarded, headers=as_caller("root", "agent_os:admin")) as admin,
    ):
        paused = own.run(workflow_id="built", message="x", session_id="s-owner")[-1]
        for run_id in (paused["run_id"], "no"):
            for action in ("reconnect", "continue-workflow", "cancel-workflow"):
                for ids in ({}, {"workflow_id": "built"}):
                    refused = other.ask(action, run_id=run_id, **ids)
                    assert (refused["event"], refused["error_code"]) == ("error", "NOT_FOUND")
        refused = other.ask("start-workflow", workflow_id="told", message="x", session_id="s-owner")
        assert refused["error_code"] == "NOT_FOUND"
        assert admin.ask("reconnect", run_id=paused["run_id"])["status"] == "PAUSED"
        assert own.ask("reconnect", run_id=paused["run_id"])["status"] == "PAUSED"


def test_another_identity_follows_nothing_of_the_one_before(guarded: Running) -> None:
    with opened(guarded, headers=as_caller("before", *RUNNING)) as socket:
        socket.say("start-workflow", workflow_id="soon", message="x")
        run_id = socket.heard()["run_id"]
        while socket.heard()["event"] != "RunContent":
            pass
        assert socket.ask("authenticate", token=token("after", *RUNNING))["user_id"] == "after"
        assert socket.ask("reconnect", run_id=run_id)["error_code"] == "NOT_FOUND"
        assert nothing_for(socket, 1.5)
        assert socket.ask("authenticate", token=token("before", *RUNNING))["user_id"] == "before"
        assert socket.ask("reconnect", run_id=run_id)["status"] == "COMPLETED"


def nothing_for(socket: Socket, seconds: float) -> bool:
    try:
        return bool(socket.heard(seconds)) and False
    except TimeoutError:
        return True


def test_a_token_that_expires_ends_what_its_socket_follows(guarded: Running) -> None:
    soon = token("brief", *RUNNING, exp=int(time.time()) - 7)  # ten seconds of leeway are left three
    with opened(guarded, headers=bearing(soon)) as socket:
        socket.say("start-workflow", workflow_id="slow", message="x")
        run_id = socket.heard()["run_id"]
        while (heard := socket.heard())["event"] != "auth_error":
            pass
        assert heard["error_type"] == "expired"
        assert socket.ask("ping")["event"] == "auth_required"
        assert socket.ask("authenticate", token=token("brief", *RUNNING))["event"] == "authenticated"
        assert socket.ask("cancel-workflow", run_id=run_id)["event"] == "cancelled"


def test_one_socket_of_a_user_too_many(guarded: Running) -> None:
    header = as_caller("many", *RUNNING)
    with ExitStack() as sockets:
        for _ in range(2):
            sockets.enter_context(opened(guarded, headers=header))
        with pytest.raises(InvalidStatus) as refused, opened(guarded, headers=header):
            pass
        assert refused.value.response.status_code == 503
        late = sockets.enter_context(opened(guarded))
        assert late.ask("authenticate", token=token("many"))["error_type"] == "server_error"
        assert late.close_code() == 1013
        sockets.enter_context(opened(guarded, headers=as_caller("few", *RUNNING)))


def test_decisions_are_audited_and_tokens_are_not(guarded: Running) -> None:
    with opened(guarded, headers=as_caller("audited", "workflows:steps:run")) as socket:
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
