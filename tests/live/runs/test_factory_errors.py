"""Errors of factories over HTTP and WebSocket: the response has the error's status, and the service survives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from support.clients.tokens import as_caller, jwks_file
from support.clients.websocket import open_websocket
from support.services.hosted import factory_calls, run, start_hosted

if TYPE_CHECKING:
    from collections.abc import Callable

    from support.services.process import RunningService

STATUSES = {"BAD_REQUEST": 400, "FORBIDDEN": 403, "NOT_FOUND": 404, "INTERNAL_SERVER_ERROR": 500}


def over_http(service: RunningService, factory: str, given: Any) -> tuple[int, str]:
    response = run(service, f"workflows/{factory}", "x", factory_input=json.dumps(given))
    body = response.json()
    return response.status_code, body.get("detail", body.get("content"))


def over_a_socket(service: RunningService, factory: str, given: Any) -> tuple[int, str]:
    with open_websocket(service) as socket:
        last = socket.run(workflow_id=factory, message="x", factory_input=given)[-1]
        assert socket.request("ping") == {"event": "pong"}
    return STATUSES.get(last.get("error_code", ""), 200), str(last.get("error", last.get("content")))


@pytest.fixture(params=[over_http, over_a_socket], ids=["http", "socket"])
def attempt(request: pytest.FixtureRequest) -> Callable[[RunningService, str, Any], tuple[int, str]]:
    found: Callable[[RunningService, str, Any], tuple[int, str]] = request.param
    return found


@pytest.mark.parametrize("given", ['{"a":1,"a":2}', '{"a":{"b":1,"c":2,"b":1}}', '{"a":[{"\\u0062":1,"b":1}]}'])
@pytest.mark.parametrize("field", ["factory_input", "session_state", "dependencies", "metadata"])
def test_an_object_with_a_member_twice_is_rejected(hosted: RunningService, field: str, given: str) -> None:
    response = run(hosted, "workflows/steps", "x", **{field: given})
    assert response.status_code == 400
    assert (response.json()["detail"].startswith(field), "is given twice" in response.json()["detail"]) == (True, True)


@pytest.mark.parametrize("name", ["factory_input", "session_id", "user_id"])
def test_a_parameter_given_twice_is_rejected(hosted: RunningService, name: str) -> None:
    query = {"session_id": "s", name: ["{}", "{}"]}
    for path in ("/workflows/raising/runs", "/workflows/raising/runs/r"):
        response = hosted.http.get(path, params=query)
        assert (response.status_code, response.json()["detail"][-len(name) - 1 : -1]) == (422, name)


@pytest.mark.parametrize("factory", ["raising", "raising-later"])
@pytest.mark.parametrize(
    ("raised", "status"),
    [
        ("validation", 400),
        ("permission", 403),
        ("factory", 500),
        ("value", 500),
        ("exit", 500),
        ("interrupt", 500),
        ("recursion", 500),
        ("cancelled", 500),
        ("timeout", 500),
        ("generator exit", 500),
        ("stop", 500),
        ("no such key", 500),
    ],
)
def test_what_a_factory_raises_has_its_status(
    hosted: RunningService, attempt: Callable[..., tuple[int, str]], factory: str, raised: str, status: int
) -> None:
    found, detail = attempt(hosted, factory, {"raise": raised})
    assert found == status
    assert "broken" not in detail
    assert "requires a request context" not in detail
    assert hosted.http.get("/health").is_success


@pytest.mark.parametrize("returned", ["none", "class", "agent", "coroutine", "generator", "text", "no such key"])
def test_a_product_that_is_not_a_new_component_is_500(
    hosted: RunningService, attempt: Callable[..., tuple[int, str]], returned: str
) -> None:
    assert attempt(hosted, "returning", {"return": returned})[0] == 500
    assert hosted.http.get("/health").is_success


def test_a_component_that_is_returned_twice_is_500(hosted: RunningService) -> None:
    found = [how(hosted, "returning", {"return": "shared"})[0] for how in (over_http, over_a_socket, over_http)]
    assert found == [200, 500, 500]


@pytest.mark.parametrize("given", [{}, {"size": "2"}, {"size": None}, {"size": [1]}, [], 1, "x"])
def test_invalid_input_calls_no_factory(
    hosted: RunningService, attempt: Callable[..., tuple[int, str]], given: Any
) -> None:
    before = factory_calls(hosted)
    assert attempt(hosted, "sized", given)[0] == 400
    assert attempt(hosted, "sized", {"size": 2}) == (200, "xx")
    assert factory_calls(hosted)[len(before) :] == ['sized workflow {"size":2}']


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"text": "x" * (256 * 1024 - 11)}, 200),
        ({"text": "x" * (256 * 1024 - 10)}, 400),
        (json.loads('{"a":' * 63 + "{}" + "}" * 63), 200),
        (json.loads('{"a":' * 64 + "{}" + "}" * 64), 400),
    ],
    ids=["largest", "too large", "deepest", "too deep"],
)
def test_input_has_limits(hosted: RunningService, given: Any, status: int) -> None:
    text = json.dumps(given, separators=(",", ":"))
    assert run(hosted, "workflows/built", "x", factory_input=text).status_code == status
    with open_websocket(hosted) as socket:
        last = socket.run(workflow_id="built", message="x", factory_input=given)[-1]
        assert STATUSES.get(last.get("error_code", ""), 200) == status


def test_neither_factory_nor_client_changes_the_verified_identity(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("trusting")
    scopes = ["workflows:read", "workflows:run"]
    expected = f"[] ann {scopes} ann"
    forged = {"claims": '{"sub": "eve"}', "scopes": "agent_os:admin", "trusted": "{}", "user_id": "eve"}
    with start_hosted(folder, "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as service:
        headers = as_caller("ann", *scopes)
        response = run(service, "workflows/tampering", "x", headers=headers | {"X-Scopes": "agent_os:admin"}, **forged)  # type: ignore[arg-type]
        assert response.json()["content"] == expected
        with open_websocket(service, headers=headers) as socket:
            last = socket.run("start-workflow", workflow_id="tampering", message="x", **forged)[-1]
            assert last["content"] == expected
