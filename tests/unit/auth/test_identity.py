"""The identity of a caller, and the data that it may see."""

from __future__ import annotations

from base64 import b64encode
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.auth.config import AuthorizationConfig
from spanwise.auth.identity import (
    EVERYONE,
    MAX_BASIC_BYTES,
    MAX_TOKEN_BYTES,
    Identity,
    bearer_of_basic,
    bearer_token,
    prefer_verified,
)
from spanwise.auth.scopes import Need
from spanwise.errors import ForbiddenError, UnauthenticatedError
from support.clients.forged_tokens import CLAIMS, NOW, forge, verifier

READ = Need.of("agents:read")


def caller(config: AuthorizationConfig | None = None, **claims: object) -> Identity:
    verified = verifier().verify(forge(claims={**CLAIMS, **claims}))
    return Identity.of(verified, config or AuthorizationConfig())


def test_a_caller_is_what_its_token_says() -> None:
    identity = caller(session_id="s1", scopes=["agents:read"], tenant={"id": 1})
    assert (identity.user_id, identity.session_id) == ("alice", "s1")
    assert identity.scopes == {"agents:read"}
    assert identity.claims["tenant"] == {"id": 1}
    assert not identity.is_admin


def test_claims_cannot_be_changed_at_any_depth() -> None:
    claims = caller(tenant={"id": 1, "roles": ["a", {"b": 2}]}).claims
    for mapping in (claims, claims["tenant"], claims["tenant"]["roles"][1]):
        assert isinstance(mapping, MappingProxyType)
        with pytest.raises(TypeError, match="does not support item assignment"):
            mapping["id"] = 2  # type: ignore[index]  # the test is that it raises
    assert isinstance(claims["tenant"]["roles"], tuple)


def test_an_identity_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        caller().is_admin = True  # type: ignore[misc]  # the test is that it raises


@pytest.mark.parametrize(
    ("scopes", "isolation", "owner"),
    [
        (["traces:read"], True, "alice"),
        ([], True, "alice"),
        (["agent_os:admin"], True, None),
        (["traces:read"], False, None),
        (["agent_os:admin"], False, None),
        (["agent_os:*:admin"], True, "alice"),
        (["agent_os:x:admin"], True, "alice"),
        (["AGENT_OS:ADMIN"], True, "alice"),
        (["system:admin"], True, "alice"),
    ],
)
def test_only_admins_and_services_without_isolation_see_everyones(
    scopes: list[str], owner: str | None, *, isolation: bool
) -> None:
    assert caller(AuthorizationConfig(user_isolation=isolation), scopes=scopes).owner_filter == owner


def test_another_admin_scope_replaces_the_default() -> None:
    config = AuthorizationConfig(admin_scope="superuser")
    assert caller(config, scopes=["superuser"]).is_admin
    assert not caller(config, scopes=["agent_os:admin"]).is_admin


@pytest.mark.parametrize("user_id", [None, ""])
def test_a_caller_without_a_name_is_an_admin_or_nobody(user_id: str | None) -> None:
    with pytest.raises(ValueError, match="a caller without the admin scope must have a user id"):
        Identity(user_id=user_id)
    with pytest.raises(ValueError, match="a caller without the admin scope must have a user id"):
        Identity(user_id=user_id, is_isolated=False)


def test_where_authorization_is_off_everything_is_open_and_nothing_is_verified() -> None:
    assert EVERYONE.allows(READ, "A")
    assert EVERYONE.owner_filter is None
    assert (EVERYONE.user_id, EVERYONE.session_id, EVERYONE.scopes) == (None, None, frozenset())
    assert EVERYONE.claims == {}


def test_an_admin_may_do_everything_that_a_route_needs() -> None:
    admin = caller(scopes=["agent_os:admin"])
    assert admin.allows(READ, "A")
    assert admin.visible_ids(READ) is None
    assert not admin.allows(None)
    with pytest.raises(ForbiddenError, match="No scope allows this route"):
        admin.authorize(None)


def test_what_a_caller_lacks_is_rejected() -> None:
    limited = caller(scopes=["agents:A:read"])
    limited.authorize(READ, "A")
    assert limited.visible_ids(READ) == frozenset({"A"})
    with pytest.raises(ForbiddenError, match="Access denied to read this agent"):
        limited.authorize(READ, "B")
    with pytest.raises(ForbiddenError, match=r"Required scope\(s\): teams:read"):
        limited.visible_ids(Need.of("teams:read"))


@given(st.none() | st.text(), st.none() | st.text())
def test_the_verified_identity_always_wins(verified: str | None, given_by_form: str | None) -> None:
    found = prefer_verified(verified, given_by_form)
    assert found == (verified if verified is not None else given_by_form)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
@pytest.mark.parametrize("spaces", [" ", "   "])
def test_a_token_stands_behind_bearer(scheme: str, spaces: str) -> None:
    assert bearer_token([f"{scheme}{spaces}a.b.c"]) == "a.b.c"


@pytest.mark.parametrize("values", [[], [""]])
def test_without_a_header_there_is_no_token(values: list[str]) -> None:
    with pytest.raises(UnauthenticatedError, match=r"^Authorization header missing$") as rejected:
        bearer_token(values)
    assert (rejected.value.status, rejected.value.error_code) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    "value",
    [
        *["a.b.c", "Bearer", "Bearer ", "Bearera.b.c", "Basic YTpi", "Token a.b.c", "Bearer a b", "Bearer a,Bearer b"],
        *["Bearer\ta.b.c", "Bearer a\nb", "Bearer a.b.c\n", "\nBearer a", " Bearer a", "Bearer  ", "JWT a.b.c"],
        "\uff42\uff45\uff41\uff52\uff45\uff52 a.b.c",
    ],
)
def test_what_is_not_bearer_is_rejected_and_not_repeated(value: str) -> None:
    with pytest.raises(UnauthenticatedError) as rejected:
        bearer_token([value])
    assert str(rejected.value) == "Authorization header must be `Bearer <token>`"


def test_two_headers_are_none() -> None:
    with pytest.raises(UnauthenticatedError, match=r"^Authorization header given more than once$"):
        bearer_token(["Bearer a", "Bearer b"])
    with pytest.raises(UnauthenticatedError, match=r"^Authorization header given more than once$"):
        bearer_token(["", "Bearer b"])


@given(st.text())
def test_any_header_is_a_token_or_rejected(value: str) -> None:
    try:
        found = bearer_token([value])
    except UnauthenticatedError:
        return
    assert value.lower().startswith("bearer ")
    assert found
    assert found in value


def test_a_session_in_the_token_is_optional() -> None:
    assert caller().session_id is None
    assert verifier().verify(forge(claims={**CLAIMS, "exp": NOW + 5})).session_id is None


def test_a_basic_header_that_is_too_long_is_not_decoded() -> None:
    token = "t" * MAX_TOKEN_BYTES
    given = "Basic " + b64encode(f"public:{token}".encode()).decode()
    assert bearer_of_basic(given) == f"Bearer {token}"
    longer = "Basic " + "QUFB" * MAX_BASIC_BYTES
    assert bearer_of_basic(longer) == longer
