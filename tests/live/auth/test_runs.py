"""Hosted components with authorization: which runs a caller may start, and which runs and sessions it sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.clients.tokens import as_admin, as_caller
from support.services.hosted import run

if TYPE_CHECKING:
    import httpx

    from support.services.process import RunningService

RUNNING = ("agents:run", "agents:read", "sessions:read", "sessions:delete", "traces:read")


def run_as(service: RunningService, caller: str, component: str = "agents/echo", **fields: str) -> httpx.Response:
    headers = as_caller(caller, *RUNNING)
    return service.http.post(f"/{component}/runs", data={"message": "x", "stream": "false", **fields}, headers=headers)


@pytest.mark.parametrize(
    ("scope", "status"),
    [
        ("", 403),
        ("agents:read", 403),
        ("teams:run", 403),
        ("agents:run", 200),
        ("agents:*:run", 200),
        ("agents:echo:run", 200),
        ("agents:other:run", 403),
        ("agent_os:admin", 200),
    ],
)
def test_a_run_needs_the_scope_to_run(guarded: RunningService, scope: str, status: int) -> None:
    headers = as_caller("ann", *filter(None, [scope]))
    form = {"message": "x", "stream": "false"}
    assert guarded.http.post("/agents/echo/runs", data=form, headers=headers).status_code == status


def test_a_listing_shows_the_components_of_the_scopes(guarded: RunningService) -> None:
    def listed(*scopes: str) -> httpx.Response:
        return guarded.http.get("/agents", headers=as_caller("ann", *scopes))

    assert [agent["id"] for agent in listed("agents:echo:read").json()] == ["echo"]
    assert listed("agents:nothing:read").json() == []
    assert len(listed("agents:read").json()) == 15
    assert listed("agents:echo:run").status_code == 403
    assert guarded.http.get("/agents/echo", headers=as_caller("ann", "agents:slow:read")).status_code == 403
    assert guarded.http.get("/agents").status_code == 401


def test_the_verified_identity_wins_and_a_difference_is_logged(guarded: RunningService) -> None:
    response = run_as(guarded, "ann", "agents/weather", user_id="bob", session_id="s-ann").json()
    assert (response["user_id"], response["content"]) == ("ann", "x: sunny, for ann")
    assert "the user_id of the form differs from the verified one" in guarded.log.read_text()
    trace = guarded.http.get(f"/traces/{response['metadata']['trace_id']}", headers=as_caller("ann", *RUNNING)).json()
    assert (trace["user_id"], trace["session_id"]) == ("ann", "s-ann")


def test_a_factory_receives_the_verified_identity(guarded: RunningService) -> None:
    content = run_as(guarded, "ann", "agents/built", claims='{"sub": "eve"}', scopes="agent_os:admin").json()["content"]
    assert content.startswith("x ann None {'sub': 'ann'") or "'sub': 'ann'" in content
    assert "eve" not in content
    assert "agent_os:admin" not in content


def test_a_caller_touches_only_what_is_its_own(guarded: RunningService) -> None:
    own = run_as(guarded, "ann", "agents/asking", session_id="s-own").json()
    url = f"/agents/asking/runs/{own['run_id']}"
    bob = as_caller("bob", *RUNNING)
    asks = [
        ("GET", url),
        ("POST", f"{url}/continue"),
        ("POST", f"{url}/cancel"),
        ("POST", f"{url}/resume"),
        ("GET", "/agents/asking/runs?session_id=s-own"),
        ("GET", "/sessions/s-own"),
        ("GET", "/sessions/s-own/runs"),
        ("DELETE", "/sessions/s-own"),
    ]
    for method, path in asks:
        foreign = guarded.http.request(method, path, headers=bob)
        absent = guarded.http.request(method, path.replace(own["run_id"], "no").replace("s-own", "no"), headers=bob)
        assert (foreign.status_code, absent.status_code) == (404, 404), path
        assert foreign.json()["detail"].replace("s-own", "no") == absent.json()["detail"]
    assert guarded.http.get("/sessions", headers=bob).json()["meta"]["total_count"] == 0
    assert run_as(guarded, "bob", session_id="s-own").json()["session_id"] == "s-own"  # in bob's own session
    assert guarded.http.get("/sessions", headers=bob).json()["meta"]["total_count"] == 1
    anns = guarded.http.get("/sessions/s-own", headers=as_caller("ann", *RUNNING)).json()
    assert (anns["user_id"], anns["agent_id"]) == ("ann", "asking")
    assert guarded.http.get("/sessions?user_id=ann", headers=bob).json()["data"] == []
    assert guarded.http.get(url, headers=as_admin()).json()["status"] == "PAUSED"
    assert guarded.http.get(url, headers=as_caller("ann", *RUNNING)).json()["status"] == "PAUSED"
    assert run(guarded, "agents/echo", headers=as_admin()).status_code == 200  # type: ignore[arg-type]
