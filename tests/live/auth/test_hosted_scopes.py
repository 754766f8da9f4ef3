"""Scopes of hosted components: every route with every kind of scope, and data of other users."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from spanwise.auth.config import ADMIN_SCOPE
from spanwise.components import Kind
from spanwise.http.routing.table import TABLE
from support.clients.tokens import as_admin, as_caller

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

    from spanwise.http.core.route import Route
    from support.services.process import RunningService

HOSTING = ("/agents", "/teams", "/workflows", "/sessions", "/config", "/settings", "/models")
ROWS = [row for row in TABLE if row.path.startswith(HOSTING)]
OF_ONE_CALLER = [row for row in ROWS if "{run_id}" in row.path or "{session_id}" in row.path]
PAUSING = {Kind.AGENT: "asking", Kind.TEAM: "built", Kind.WORKFLOW: "built"}
"""A component of each kind that pauses for a confirmation."""

ALL = [f"{kind}s:{action}" for kind in Kind for action in ("run", "read")]
ALL += [f"sessions:{action}" for action in ("read", "write", "delete")]
BODIES = {
    "create_session": {},
    "delete_sessions": {"session_ids": ["nothing"], "session_types": ["agent"]},
    "rename_session": {"session_name": "Named"},
    "update_session": {"metadata": {"a": 1}},
}
CONFIRMATIONS = dict.fromkeys(("tools", "requirements", "step_requirements"), '[{"confirmation": true}]')
FORMS: dict[str, dict[str, str]] = {
    "create": {"message": "x", "stream": "false"},
    "continue": {"stream": "false", **CONFIRMATIONS},
    "cancel": {},
    "resume": {},
}


def name_of(row: Route) -> str:
    return f"{row.method} {row.path}"


def kind_of(row: Route) -> Kind:
    return next((kind for kind in Kind if row.path.startswith(f"/{kind}s")), Kind.AGENT)


def begun(service: RunningService, kind: Kind, caller: str) -> dict[str, str]:
    """Returns the path parameters of a route: a paused run in a session of `caller`."""
    component = PAUSING[kind]
    form = {"message": "sure", "stream": "false", "session_id": f"s-{uuid4()}"}
    response = service.http.post(f"/{kind}s/{component}/runs", data=form, headers=as_caller(caller, *ALL))
    run = response.raise_for_status().json()
    assert run["status"] == "PAUSED"
    return {"component_id": component, "run_id": run["run_id"], "session_id": run["session_id"]}


def ask(service: RunningService, row: Route, names: dict[str, str], headers: dict[str, str]) -> httpx.Response:
    """Sends a valid request to a route and returns the response."""
    arguments: dict[str, Any] = {}
    if row.body == "form":
        arguments["data"] = FORMS[row.operation.id.split("_")[0]]
    elif row.body is not None:
        arguments["json"] = BODIES[row.operation.id]
    if row.path.endswith("{component_id}/runs") and row.method == "GET":
        arguments["params"] = {"session_id": names["session_id"]}
    return service.http.request(row.method, row.path.format(**names), headers=headers, **arguments)


def scopes_for(row: Route, component: str) -> Iterator[tuple[list[str], bool]]:
    """Yields scopes with True if they open a route, by the documented grammar."""
    wanted = str(row.need).split(", ")
    names_one = "{component_id}" in row.path
    for scope in wanted:
        resource, action = scope.split(":")
        yield [scope], True
        yield [f"{resource}:*:{action}"], True
        yield [f"{resource}:{component}:{action}"], names_one or row.is_filtered_by_scope
        yield [f"{resource}:other:{action}"], row.is_filtered_by_scope
        yield [f"{resource}:other:{action}", f"{resource}:{component}:{action}"], names_one or row.is_filtered_by_scope
        for near in (f"{resource}:{action}:x:y", f"{resource.upper()}:{action}", f"{resource}:*", f"*:{action}"):
            yield [near], False
    yield [], False
    yield [ADMIN_SCOPE], True
    yield ["agent_os:*:admin"], False
    for other in [*ALL, "config:read", "traces:read", "metrics:read"]:
        if other not in wanted:
            yield [other], False


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_a_scope_opens_the_routes_of_the_published_table_and_no_other(guarded: RunningService, row: Route) -> None:
    kind = kind_of(row)
    names = begun(guarded, kind, "ann")
    for scopes, is_open in scopes_for(row, names["component_id"]):
        if is_open and row.method in {"DELETE", "POST"}:
            names = begun(guarded, kind, "ann")
        response = ask(guarded, row, names, as_caller("ann", *scopes))
        if is_open:
            assert response.status_code == row.operation.success, (scopes, response.text)
            continue
        assert (response.status_code, response.json()["error_code"]) == (403, "FORBIDDEN"), scopes
        words = ("Insufficient permissions. Required scope(s): ", "Access denied to ")
        assert response.json()["detail"].startswith(words)
        assert "www-authenticate" not in response.headers
    assert ask(guarded, row, names, {}).status_code == 401


def without_names(response: httpx.Response, names: dict[str, str]) -> tuple[int, bytes, dict[str, str]]:
    """Returns everything that a caller can see, without the names it sent and values that always differ."""
    content = response.content
    for name in ("run_id", "session_id"):
        content = content.replace(names[name].encode(), b"-" * 36)
    headers = {name: value for name, value in response.headers.items() if name not in {"x-request-id", "date"}}
    headers.pop("content-length", None)
    return response.status_code, content, headers


@pytest.mark.parametrize("row", OF_ONE_CALLER, ids=name_of)
@pytest.mark.parametrize("scopes", [ALL, [f"{kind}s:*:run" for kind in Kind] + ALL], ids=["plain", "by id"])
def test_data_of_others_is_as_if_it_did_not_exist(guarded: RunningService, row: Route, scopes: list[str]) -> None:
    names = begun(guarded, kind_of(row), "ann")
    absent = names | {"run_id": str(uuid4()), "session_id": f"s-{uuid4()}"}
    before = guarded.http.get(f"/sessions/{names['session_id']}", headers=as_admin()).json()
    for caller in ("bob", "Ann", "ann2"):
        foreign, nothing = (ask(guarded, row, each, as_caller(caller, *scopes)) for each in (names, absent))
        assert without_names(foreign, names) == without_names(nothing, absent)
        assert foreign.status_code == 404
    after = guarded.http.get(f"/sessions/{names['session_id']}", headers=as_admin()).json()
    assert after == before
    url = f"/{kind_of(row)}s/{names['component_id']}/runs/{names['run_id']}"
    assert guarded.http.get(url, headers=as_admin()).json()["status"] == "PAUSED"


def test_a_list_of_runs_of_others_is_empty(guarded: RunningService) -> None:
    for kind in Kind:
        names = begun(guarded, kind, "ann")
        url = f"/{kind}s/{names['component_id']}/runs"
        answers = [
            guarded.http.get(url, params={"session_id": session_id}, headers=as_caller("bob", *ALL))
            for session_id in (names["session_id"], "s-nothing")
        ]
        assert [(response.status_code, response.content) for response in answers] == [(404, answers[0].content)] * 2


def test_a_caller_lists_only_its_own_sessions(guarded: RunningService) -> None:
    for caller, count in (("lister", 2), ("Lister", 1)):
        for _ in range(count):
            begun(guarded, Kind.TEAM, caller)
    everything = guarded.http.get("/sessions?limit=100", headers=as_admin()).json()["data"]
    for caller in ("lister", "Lister", "nobody"):
        for query in ({}, {"type": "team"}, {"user_id": "Lister"}, {"user_id": "%"}, {"session_name": "sure"}):
            headers = as_caller(caller, "sessions:read")
            found = guarded.http.get("/sessions", params={**query, "limit": 100}, headers=headers).json()
            of_user = query.get("user_id", caller)
            own = [each for each in everything if each["user_id"] == caller == of_user]
            assert found["data"] == own, (caller, query)
            assert found["meta"]["total_count"] == len(own)


def test_a_session_belongs_to_the_user_of_the_token(guarded: RunningService) -> None:
    headers = as_caller("ann", *ALL)
    made = guarded.http.post("/sessions", json={"user_id": "bob", "session_id": "taken"}, headers=headers).json()
    assert made["user_id"] == "ann"
    foreign = guarded.http.post("/sessions", json={"session_id": "taken"}, headers=as_caller("bob", *ALL))
    own = guarded.http.post("/sessions", json={"session_id": "taken"}, headers=headers)
    assert (foreign.status_code, foreign.json()["user_id"], own.status_code) == (201, "bob", 409)
    form = {"message": "x", "stream": "false", "session_id": "taken"}
    runs = {
        user: guarded.http.post("/agents/echo/runs", data=form, headers=as_caller(user, *ALL)).json()["run_id"]
        for user in ("ann", "bob")
    }
    for user, run_id in runs.items():
        (found,) = guarded.http.get("/sessions/taken/runs", headers=as_caller(user, *ALL)).json()
        assert found["run_id"] == run_id


def test_factory_inputs_are_described_to_authenticated_callers(guarded: RunningService) -> None:
    def described(headers: dict[str, str]) -> str:
        response = guarded.http.get("/openapi.json", headers=headers)
        assert response.status_code == 200
        assert json.loads(response.text)["openapi"] == "3.1.0"
        return response.text

    assert "agent.sized.input" in described(as_caller("ann"))
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic x"}):
        assert "sized" not in described(headers)
