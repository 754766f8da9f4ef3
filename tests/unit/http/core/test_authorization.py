from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from spanwise import AuthorizationConfig, ConfigurationError, Service
from spanwise.errors import ForbiddenError, UnauthenticatedError
from spanwise.http.core.authorization import Authorizer, create_authorizer
from spanwise.http.core.route import Route
from spanwise.http.routing.table import TABLE
from spanwise.settings import Settings
from support.clients.tokens import as_admin, as_caller, bearer, claims, signing_key

SEARCH = next(row for row in TABLE if row.path == "/traces/search")
ON = Settings(authorization=True)
KEYS = AuthorizationConfig(verification_keys=[signing_key().public_text or ""])


def admitted(to: Authorizer, headers: dict[str, str], row: Route | None = SEARCH) -> Any:  # the state has any members
    """Returns the state of an authorized request."""
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": "/traces/search", "headers": raw, "state": {"request_id": "1"}}
    request = Request(scope)
    asyncio.run(to.authorize(request, row))
    return request.state


def test_a_handler_finds_the_caller_on_the_state_of_the_request() -> None:
    payload = {**claims("alice", "traces:read", "x:y"), "session_id": "s1", "roles": ["a"]}
    state = admitted(create_authorizer(KEYS, ON), bearer(signing_key().sign(payload)))
    assert (state.user_id, state.session_id) == ("alice", "s1")
    assert state.scopes == {"traces:read", "x:y"}
    assert state.claims["roles"] == ("a",)
    assert state.identity.owner_filter == "alice"


def test_off_nobody_is_verified_and_everything_is_open() -> None:
    state = admitted(create_authorizer(KEYS, Settings(callers="open")), as_caller("alice"))
    assert (state.user_id, state.session_id, state.scopes, dict(state.claims)) == (None, None, frozenset(), {})
    assert state.identity.owner_filter is None


def test_an_admin_and_a_service_without_isolation_are_not_restricted() -> None:
    assert admitted(create_authorizer(KEYS, ON), as_admin()).identity.owner_filter is None
    shared = AuthorizationConfig(verification_keys=KEYS.verification_keys, user_isolation=False)
    state = admitted(create_authorizer(shared, ON), as_caller("alice", "traces:read"))
    assert state.identity.owner_filter is None


def test_a_route_that_is_not_public_and_has_no_scope_is_closed() -> None:
    row = Route("POST", "/traces/search", SEARCH.handler, SEARCH.operation)
    with pytest.raises(ForbiddenError, match="No scope allows this route"):
        admitted(create_authorizer(KEYS, ON), as_caller("alice", "traces:read", "*", "*:*"), row)


def test_an_unknown_route_needs_a_token_too() -> None:
    ours = create_authorizer(KEYS, ON)
    assert admitted(ours, as_caller("alice"), None).user_id == "alice"
    with pytest.raises(UnauthenticatedError):
        admitted(ours, {}, None)


def test_code_wins_over_settings() -> None:
    on = {"authorization": True}
    assert Service(settings=on).settings.authorization
    assert not Service(authorization=False, settings=on).settings.authorization
    with pytest.raises(ConfigurationError, match="there is no verification key"):
        _ = Service(authorization=True, authorization_config=AuthorizationConfig()).app
