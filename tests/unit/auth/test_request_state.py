"""The caller as set by middleware of the surrounding program."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from spanwise import AuthorizationConfig, ConfigurationError
from spanwise.auth.identity import EVERYONE
from spanwise.auth.request_state import IDENTITY_MEMBERS, identity_from_state
from spanwise.auth.scopes import Need

CONFIG = AuthorizationConfig()
READ = Need.of("agents:read")


@pytest.mark.parametrize("nothing", [None, ""])
def test_without_a_member_it_is_everyone(nothing: str | None) -> None:
    assert identity_from_state({}, CONFIG) is EVERYONE
    assert identity_from_state({"request_id": "1", "user": "alice"}, CONFIG) is EVERYONE
    assert identity_from_state(dict.fromkeys(IDENTITY_MEMBERS, nothing), CONFIG) is EVERYONE


def test_every_member_is_the_callers() -> None:
    state = {"user_id": "alice", "session_id": "s1", "claims": {"roles": ["a", {"b": {"c"}}]}, "scopes": ["x:y"]}
    found = identity_from_state(state, CONFIG)
    assert (found.user_id, found.session_id, found.scopes) == ("alice", "s1", frozenset({"x:y"}))
    assert found.claims["roles"] == ("a", MappingProxyType({"b": frozenset({"c"})}))
    state["claims"]["roles"].append("later")  # type: ignore[index]
    assert len(found.claims["roles"]) == 2


def test_a_user_sees_its_own_and_may_do_everything() -> None:
    found = identity_from_state({"user_id": "alice", "scopes": []}, CONFIG)
    assert found.owner_filter == "alice"
    assert found.allows(READ, "any")
    assert found.visible_ids(READ) is None
    assert not found.allows(None)


def test_an_admin_scope_or_no_isolation_shows_everyones() -> None:
    admin = {"user_id": "root", "scopes": "agents:read agent_os:admin"}
    assert identity_from_state(admin, CONFIG).owner_filter is None
    assert identity_from_state(admin, AuthorizationConfig(admin_scope="other")).owner_filter == "root"
    shared = AuthorizationConfig(user_isolation=False)
    assert identity_from_state({"user_id": "alice"}, shared).owner_filter is None


@pytest.mark.parametrize("member", [{"session_id": "s1"}, {"claims": {"a": 1}}, {"scopes": {"x:y"}}])
def test_without_a_user_nothing_is_restricted(member: dict[str, Any]) -> None:
    found = identity_from_state(member, CONFIG)
    assert (found.user_id, found.owner_filter) == (None, None)
    assert found is not EVERYONE


@pytest.mark.parametrize("scopes", [["a:b", "c:d"], ("a:b", "c:d"), {"a:b", "c:d"}, "a:b  c:d "])
def test_scopes_are_any_collection_or_a_text(scopes: Any) -> None:
    assert identity_from_state({"scopes": scopes}, CONFIG).scopes == {"a:b", "c:d"}


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("user_id", 42),
        ("user_id", b"alice"),
        ("user_id", " alice"),
        ("user_id", "a\0b"),
        ("user_id", "a" * 257),
        ("user_id", False),
        ("session_id", object()),
        ("claims", ["a"]),
        ("claims", "sub=alice"),
        ("scopes", 7),
        ("scopes", [1]),
        ("scopes", {"a:b": True}),
    ],
)
def test_a_member_of_another_type_is_an_error_that_names_it(member: str, value: Any) -> None:
    words = rf"`request\.state\.{member}`: expected .*, got `{type(value).__name__}`"
    with pytest.raises(ConfigurationError, match=words):
        identity_from_state({member: value}, CONFIG)
