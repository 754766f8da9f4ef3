"""The caller of one request: who it is, what it may do, and whose data it sees."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from spanwise.auth import scopes as granting
from spanwise.errors import UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanwise.auth.claims import VerifiedToken
    from spanwise.auth.config import AuthorizationConfig
    from spanwise.auth.scopes import Need

_BEARER = re.compile(r"bearer +([^\s,]+) *", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A caller. Made from a verified token, or `EVERYONE` where authorization is off; never from what a form says.

    Attributes:
        user_id: who it is; None only for an admin, or where authorization is off.
        session_id: the session its token is for, if it is for one.
        claims: what its token says, read-only at any depth.
        scopes: what its token allows.
        is_admin: whether it may do and see everything.
        is_isolated: whether it sees only what is its own, unless it is an admin.
    """

    user_id: str | None
    session_id: str | None = None
    claims: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    scopes: frozenset[str] = frozenset()
    is_admin: bool = False
    is_isolated: bool = True

    def __post_init__(self) -> None:
        """Refuses a caller that would be restricted to nobody's data, and so might see everybody's."""
        if not self.user_id and not self.is_admin:
            raise ValueError("a caller that is no admin must have a user id")

    @classmethod
    def of(cls, token: VerifiedToken, config: AuthorizationConfig) -> Identity:
        """Returns the caller that a verified token names."""
        return cls(
            user_id=token.user_id,
            session_id=token.session_id,
            claims=token.claims,
            scopes=token.scopes,
            is_admin=config.admin_scope in token.scopes,
            is_isolated=config.user_isolation,
        )

    @property
    def owner_filter(self) -> str | None:
        """Returns the user to whose traces, sessions and runs this caller is restricted; None for everyone's."""
        return self.user_id if self.is_isolated and not self.is_admin else None

    def allows(self, need: Need | None, resource_id: str | None = None) -> bool:
        """Returns whether this caller may do what a route needs; see `scopes.allows`."""
        return need is not None and (self.is_admin or granting.allows(self.scopes, need, resource_id))

    def visible_ids(self, need: Need) -> frozenset[str] | None:
        """Returns the ids that a listing may show to this caller: None for all of them, never an empty set.

        Raises:
            ForbiddenError: it may see none.
        """
        if self.is_admin:
            return None
        ids = granting.visible_ids(self.scopes, need)
        if ids is not None and not ids:
            raise granting.refusal(self.scopes, need)
        return ids

    def demand(self, need: Need | None, resource_id: str | None = None) -> None:
        """Lets pass a caller that may do what a route needs.

        Raises:
            ForbiddenError: it may not.
        """
        if not self.allows(need, resource_id):
            raise granting.refusal(self.scopes, need, resource_id)


EVERYONE = Identity(user_id=None, is_admin=True, is_isolated=False)
"""The caller where authorization is off: everything is open, and nothing about it is verified."""


def bearer_token(authorization: Sequence[str]) -> str:
    """Returns the token of a request. The header is its only place: no query, no cookie, no form.

    Args:
        authorization: the values of all `Authorization` headers of the request.

    Raises:
        UnauthenticatedError: there is none, more than one, or one that is not `Bearer <token>`.
    """
    if not any(authorization):
        raise UnauthenticatedError("Authorization header missing")
    if len(authorization) > 1:
        raise UnauthenticatedError("Authorization header given more than once")
    found = _BEARER.fullmatch(authorization[0])
    if not found:
        raise UnauthenticatedError("Authorization header must be `Bearer <token>`")
    return found[1]


def verified_wins(verified: str | None, given: str | None) -> str | None:
    """Returns the user or session that holds: the verified one if there is one, else what the request says."""
    return given if verified is None else verified
