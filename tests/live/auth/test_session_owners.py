"""Every verified user has separate session ids, both here and in agno's databases."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.tokens import as_admin, as_caller
from support.services.hosted import stream_events

if TYPE_CHECKING:
    import httpx

    from support.services.process import RunningService

SCOPES = (
    "agents:run",
    "teams:run",
    "workflows:run",
    "sessions:read",
    "sessions:write",
    "sessions:delete",
    "traces:read",
)
COMPONENTS = ["agents/counter", "agents/async-counter", "teams/tally", "workflows/steps", "teams/outer", "agents/own"]


def ask(service: RunningService, user: str, method: str, path: str, **options: Any) -> httpx.Response:
    headers = as_admin() if user == "admin" else as_caller(user, *SCOPES)
    return service.http.request(method, path, headers=headers, **options)


def run_as(service: RunningService, user: str, component: str, message: str, session_id: str) -> dict[str, Any]:
    form = {"message": message, "session_id": session_id, "stream": "false"}
    response = ask(service, user, "POST", f"/{component}/runs", data=form)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def test_a_taken_id_cannot_be_told_from_a_free_one(guarded_keeping: RunningService) -> None:
    assert ask(guarded_keeping, "ann", "POST", "/sessions", json={"session_id": "taken"}).status_code == 201
    found = []
    for session_id in ("taken", "never"):
        for method, path in [
            ("GET", ""),
            ("GET", "/runs"),
            ("GET", "/run-previews"),
            ("GET", "/runs/nothing"),
            ("PATCH", ""),
            ("DELETE", ""),
        ]:
            body: dict[str, Any] = {"json": {"metadata": {}}} if method == "PATCH" else {}
            url = f"/sessions/{session_id}{path}"
            found.append((ask(guarded_keeping, "eve", method, url, **body), session_id))
        created = ask(guarded_keeping, "eve", "POST", "/sessions", json={"session_id": session_id})
        found += [(created, session_id), (ask(guarded_keeping, "eve", "DELETE", f"/sessions/{session_id}"), session_id)]
    assert [each.status_code for each, _ in found] == [*[404] * 6, 201, 204] * 2
    texts = [each.text.replace(session_id, "ID") for each, session_id in found if each.status_code == 404]
    assert texts[:6] == texts[6:]
    assert ask(guarded_keeping, "ann", "GET", "/sessions/taken").json()["user_id"] == "ann"
    assert ask(guarded_keeping, "ann", "POST", "/sessions", json={"session_id": "taken"}).status_code == 409


@pytest.mark.parametrize("component", COMPONENTS)
def test_two_users_with_one_id_have_two_sessions(guarded_keeping: RunningService, component: str) -> None:
    session_id = f"two-{component.replace('/', '-')}"
    counts = [run_as(guarded_keeping, user, component, "count", session_id) for user in ("ann", "eve", "ann", "eve")]
    assert [each["session_id"] for each in counts] == [session_id] * 4
    texts = [each["content"].rpartition(": ")[2] for each in counts]
    assert texts == ["k is 1", "k is 1", "k is 2", "k is 2"]
    assert "~" not in json.dumps(counts)
    for user in ("ann", "eve"):
        found = ask(guarded_keeping, user, "GET", f"/sessions/{session_id}").json()
        assert (found["user_id"], found["session_state"], len(found["chat_history"])) == (user, {"k": 2}, 4)
        runs = ask(guarded_keeping, user, "GET", f"/sessions/{session_id}/runs").json()
        own = [each["run_id"] for each in counts if each["user_id"] == user]
        assert [each["run_id"] for each in runs] == own
        trace = ask(guarded_keeping, user, "GET", f"/traces/{counts[0]['metadata']['trace_id']}")
        assert trace.status_code == (200 if user == "ann" else 404)
    assert ask(guarded_keeping, "ann", "DELETE", f"/sessions/{session_id}").status_code == 204
    state = run_as(guarded_keeping, "eve", component, "count", session_id)["session_state"]
    assert {name: value for name, value in state.items() if name == "k"} == {"k": 3}
    content = run_as(guarded_keeping, "bob", component, "count", session_id)["content"]
    assert content.rpartition(": ")[2] == "k is 1"


def test_a_history_is_kept_and_only_its_users(guarded_keeping: RunningService) -> None:
    for user in ("ann", "eve", "bob"):
        run_as(guarded_keeping, user, "agents/counter", f"recall {user}", "histories")
    for user in ("bob", "ann", "eve"):
        content = run_as(guarded_keeping, user, "agents/counter", "recall", "histories")["content"]
        assert content == f"heard ['recall {user}', 'recall']"


def test_a_streamed_and_continued_run_says_the_id_that_the_caller_knows(guarded_keeping: RunningService) -> None:
    run_as(guarded_keeping, "ann", "agents/counter", "count", "streamed")
    form = {"message": "confirm", "session_id": "streamed"}
    with guarded_keeping.http.stream(
        "POST", "/agents/counter/runs", data=form, headers=as_caller("eve", *SCOPES)
    ) as answer:
        events = list(stream_events(answer))
    assert {event["session_id"] for event in events} == {"streamed"}
    assert events[-1]["event"] == "RunPaused"
    tools = json.dumps([{**each, "confirmed": True} for each in events[-1]["tools"]])
    url = f"/agents/counter/runs/{events[-1]['run_id']}/continue"
    result = ask(guarded_keeping, "eve", "POST", url, data={"tools": tools, "stream": "false"}).json()
    assert (result["session_id"], result["content"]) == ("streamed", "k is 1")
    assert "~" not in json.dumps([events, result])


def test_an_id_that_looks_derived_is_nobody_elses(guarded_keeping: RunningService) -> None:
    """A user who knows how ids are derived cannot take over another user's session."""
    for user in ("ann", "eve"):
        run_as(guarded_keeping, user, "agents/counter", f"recall {user}", "aimed")
    derived = f"aimed~{sha256(b'eve').hexdigest()[:32]}"
    assert run_as(guarded_keeping, "mallory", "agents/counter", "recall", derived)["content"] == "heard ['recall']"
    assert run_as(guarded_keeping, "eve", "agents/counter", "recall", "aimed")["content"] == (
        "heard ['recall eve', 'recall']"
    )


def test_administrators_name_the_user_of_an_ambiguous_id(guarded_keeping: RunningService) -> None:
    service = guarded_keeping
    runs = {user: run_as(service, user, "agents/own", "count", "ambiguous") for user in ("ann", "eve")}
    for method, path in [("GET", ""), ("GET", "/runs"), ("PATCH", ""), ("DELETE", "")]:
        body = {"json": {"metadata": {"a": 1}}} if method == "PATCH" else {}
        rejected = ask(service, "admin", method, f"/sessions/ambiguous{path}", **body)
        assert (rejected.status_code, rejected.json()["error_code"]) == (409, "CONFLICT"), path
        assert "expected `user_id` to name one" in rejected.json()["detail"]
    listed = ask(service, "admin", "GET", "/agents/own/runs?session_id=ambiguous")
    assert listed.status_code == 409
    for user, result in runs.items():
        query = {"user_id": user}
        assert ask(service, "admin", "GET", "/sessions/ambiguous", params=query).json()["user_id"] == user
        (found,) = ask(service, "admin", "GET", "/sessions/ambiguous/runs", params=query).json()
        assert found["run_id"] == result["run_id"]
        query |= {"session_id": "ambiguous"}
        (found,) = ask(service, "admin", "GET", "/agents/own/runs", params=query).json()
        assert found["run_id"] == result["run_id"]
    assert ask(service, "admin", "GET", "/sessions/ambiguous?user_id=bob").status_code == 404
    assert ask(service, "admin", "DELETE", "/sessions/ambiguous?user_id=ann").status_code == 204
    assert ask(service, "admin", "GET", "/sessions/ambiguous").json()["user_id"] == "eve"
    # An administrator's own runs must not enter another user's session, which may be a trap.
    assert run_as(service, "admin", "agents/own", "count", "ambiguous")["content"] == "count: k is 1"
    assert ask(service, "admin", "GET", "/sessions/ambiguous").status_code == 409
