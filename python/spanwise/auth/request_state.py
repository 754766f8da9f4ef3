"""The identity that the surrounding program stores on `request.state` when it authorizes requests itself.

Source: `docs/reference/tokens.md#identity-from-the-surrounding-program`.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from spanwise.auth.claims import is_name
from spanwise.auth.identity import EVERYONE, Identity, frozen
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from spanwise.auth.config import AuthorizationConfig

IDENTITY_MEMBERS = ("user_id", "session_id", "claims", "scopes")
"""The members of `request.state` that identify the caller."""


def identity_from_state(state: Mapping[str, Any], config: AuthorizationConfig) -> Identity:
    """Returns the caller that a request's state describes; `EVERYONE` if it describes no caller.

    The surrounding program has authorized the request, so scopes are not compared with the route's requirements. A
    caller with a user id sees only its own data, as with a token.

    Args:
        state: the state of the request.
        config: the admin scope, and whether users are isolated.

    Raises:
        ConfigurationError: a member has the wrong type.
    """
    given = {name: state[name] for name in IDENTITY_MEMBERS if state.get(name) not in (None, "")}
    if not given:
        return EVERYONE
    user_id, scopes = _name(given, "user_id"), _scopes(given)
    return Identity(
        user_id=user_id,
        session_id=_name(given, "session_id"),
        claims=_claims(given),
        scopes=scopes,
        is_admin=user_id is None or config.admin_scope in scopes,
        is_scoped=False,
        is_isolated=config.user_isolation,
    )


def _name(given: Mapping[str, Any], name: str) -> str | None:
    found = given.get(name)
    if found is None:
        return None
    if not isinstance(found, str) or not is_name(found):
        raise _unusable(name, "a text of 1 to 256 printable characters without surrounding spaces", found)
    return found


def _scopes(given: Mapping[str, Any]) -> frozenset[str]:
    found = given.get("scopes", ())
    if isinstance(found, str):
        return frozenset(found.split())
    if isinstance(found, list | tuple | AbstractSet) and all(isinstance(scope, str) for scope in found):
        return frozenset(found)
    raise _unusable("scopes", "a collection of texts, or one text", found)


def _claims(given: Mapping[str, Any]) -> Mapping[str, Any]:
    found = given.get("claims", {})
    if not isinstance(found, Mapping):
        raise _unusable("claims", "a mapping", found)
    claims: Mapping[str, Any] = frozen(found)
    return claims


def _unusable(name: str, expected: str, found: object) -> ConfigurationError:
    return ConfigurationError(
        f"another middleware set `request.state.{name}`: expected {expected}, got `{type(found).__name__}`"
    )
