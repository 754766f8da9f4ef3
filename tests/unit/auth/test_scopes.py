"""The permissions of scopes, compared with a naive implementation that checks scope by scope."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.auth.scopes import Grant, Need, allows, forbidden, parse_scope, visible_ids
from spanwise.errors import ForbiddenError

RUN = Need.of("agents:run")
READ = Need.of("agents:read")
READ_RUNS = Need.of("agents:run", "agents:read")
CONFIG = Need.of("config:read")

HELD = ["agents:run", "agents:read", "agents:*:run", "agents:A:run", "agents:B:run", "teams:run", "agents:A:read"]
REQUESTS = [(RUN, None), (RUN, "A"), (RUN, "B"), (READ, "A"), (READ_RUNS, "A"), (READ_RUNS, None)]
MATRIX = """
                run     run A   run B   read A  run|read A  run|read
agents:run      yes     yes     yes     no      yes         yes
agents:read     no      no      no      yes     yes         yes
agents:*:run    yes     yes     yes     no      yes         yes
agents:A:run    no      yes     no      no      yes         no
agents:B:run    no      no      yes     no      no          no
teams:run       no      no      no      no      no          no
agents:A:read   no      no      no      yes     yes         no
"""


def test_the_matrix_of_scopes_holds() -> None:
    rows = {row.split()[0]: row.split()[1:] for row in MATRIX.strip().splitlines()[1:]}
    assert list(rows) == HELD
    for held in HELD:
        decisions = [
            "yes" if allows(frozenset({held}), need, component_id) else "no" for need, component_id in REQUESTS
        ]
        assert decisions == rows[held], held


@pytest.mark.parametrize(
    ("scope", "grant"),
    [
        ("traces:read", Grant("traces", None, "read")),
        ("agents:a-1:run", Grant("agents", "a-1", "run")),
        ("system:read", Grant("config", None, "read")),
        ("system:x:read", Grant("config", "x", "read")),
        *[
            (scope, None)
            for scope in ["", ":", "traces", "traces:", ":read", "a::b", "a:b:c:d", "agents:a:b:run", "::"]
        ],
    ],
)
def test_a_scope_is_of_the_grammar_or_grants_nothing(scope: str, grant: Grant | None) -> None:
    assert parse_scope(scope) == grant


@pytest.mark.parametrize(
    "scope",
    ["*:read", "*", "*:*", "agents:*", "Agents:run", "agents:RUN", "agents :run", "agents:run ", "agent_os:admin"],
)
def test_there_is_no_other_wildcard(scope: str) -> None:
    assert not allows(frozenset({scope}), RUN)
    assert not allows(frozenset({scope}), RUN, "A")


def test_system_is_another_word_for_config() -> None:
    assert allows(frozenset({"system:read"}), CONFIG)
    assert Need.of("system:read") == CONFIG


def test_a_route_without_a_row_is_open_to_nobody() -> None:
    assert not allows(frozenset({"agents:run", "*", "agent_os:admin"}), None)
    assert str(forbidden(frozenset(), None)) == "Insufficient permissions. No scope allows this route"


@pytest.mark.parametrize("resource_id", ["A:run", "*", "", ":", "A:*", "agents:run"])
def test_a_strange_id_is_granted_by_no_scope_of_another(resource_id: str) -> None:
    assert not allows(frozenset({"agents:A:run", "teams:*:run", "agents::run", "agents:A:run:run"}), RUN, resource_id)


PARTS = st.sampled_from(["agents", "teams", "config", "system", "A", "B", "*", "run", "read", ""])
SCOPES = st.frozensets(st.lists(PARTS, min_size=1, max_size=4).map(":".join), max_size=6)


def grants(scope: str, need: Need, resource_id: str | None) -> bool:
    """Returns whether one scope grants a need, by the documented grammar."""
    parts = ["config" if index == 0 and part == "system" else part for index, part in enumerate(scope.split(":"))]
    match parts:
        case [resource, action] if resource and action:
            return resource == need.resource and action in need.actions
        case [resource, "*", action]:
            return resource == need.resource and action in need.actions
        case [resource, limited_to, action] if limited_to:
            return resource == need.resource and action in need.actions and limited_to == resource_id
        case _:
            return False


@given(SCOPES, st.sampled_from([RUN, READ, READ_RUNS, CONFIG]), st.sampled_from([None, "A", "B", "C"]))
def test_scopes_grant_what_one_of_them_grants(scopes: frozenset[str], need: Need, resource_id: str | None) -> None:
    expected = any(grants(scope, need, resource_id) for scope in scopes)
    assert allows(scopes, need, resource_id) == expected
    ids = visible_ids(scopes, need)
    assert (ids is None) == allows(scopes, need)
    for each in ("A", "B", "C"):
        assert allows(scopes, need, each) == (ids is None or each in ids)


@given(SCOPES, SCOPES, st.sampled_from([None, "A"]))
def test_more_scopes_never_grant_less(some: frozenset[str], more: frozenset[str], resource_id: str | None) -> None:
    assert allows(some | more, RUN, resource_id) >= allows(some, RUN, resource_id)


@pytest.mark.parametrize(
    ("held", "need", "resource_id", "message"),
    [
        (set(), RUN, None, "Insufficient permissions. Required scope(s): agents:run"),
        ({"teams:A:run"}, RUN, "A", "Insufficient permissions. Required scope(s): agents:run"),
        ({"agents:read"}, RUN, "A", "Insufficient permissions. Required scope(s): agents:run"),
        ({"agents:A:run"}, RUN, "B", "Access denied to run this agent"),
        ({"agents:A:run"}, RUN, None, "Insufficient permissions. Required scope(s): agents:run"),
        ({"teams:A:run"}, Need.of("teams:run"), "B", "Access denied to run this team"),
        ({"workflows:A:read"}, Need.of("workflows:run", "workflows:read"), "B", "Access denied to run this workflow"),
        ({"agents:A:read"}, READ, "B", "Access denied to read this agent"),
        (set(), READ_RUNS, "B", "Insufficient permissions. Required scope(s): agents:run, agents:read"),
        (set(), Need.of("traces:read"), None, "Insufficient permissions. Required scope(s): traces:read"),
    ],
)
def test_a_rejection_names_the_missing_scopes(
    held: set[str], need: Need, resource_id: str | None, message: str
) -> None:
    error = forbidden(frozenset(held), need, resource_id)
    assert isinstance(error, ForbiddenError)
    assert (str(error), error.status, error.error_code) == (message, 403, "FORBIDDEN")


@pytest.mark.parametrize(
    "scopes", [(), ("agents",), ("agents:A:run",), ("agents:run", "teams:run"), ("agents:run", "")]
)
def test_a_need_is_one_resource_and_its_actions(scopes: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected scopes `resource:action` of one resource"):
        Need.of(*scopes)
