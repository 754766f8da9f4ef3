"""The caller of a request: its user id, its permissions and its visible data."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from spanwise.auth import scopes as granting
from spanwise.errors import UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.auth.claims import VerifiedToken
    from spanwise.auth.config import AuthorizationConfig
    from spanwise.auth.scopes import Need

MAX_TOKEN_BYTES = 8 * 1024
MAX_HEADER_BYTES = MAX_TOKEN_BYTES + 64
"""The longest `Authorization` header that is read: the longest token, its scheme and some spaces."""
MAX_BASIC_BYTES = 2 * MAX_HEADER_BYTES
"""The longest Basic header that is decoded. It also holds a user name, and base64 needs four bytes for three."""
_BEARER = re.compile(r"bearer +([^\s,]+) *", re.IGNORECASE)
_BASIC = re.compile(r"basic +([^\s,]+) *", re.IGNORECASE)


def frozen(value: object) -> Any:  # noqa: ANN401  # any JSON value
    """Returns a deeply immutable copy of a JSON value: objects become read-only mappings, arrays become tuples."""
    match value:
        case Mapping():
            return MappingProxyType({name: frozen(member) for name, member in value.items()})
        case list() | tuple():
            return tuple(frozen(member) for member in value)
        case set() | frozenset():
            return frozenset(value)
        case _:
            return value


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A caller, from a verified token or `request.state`; `EVERYONE` if authorization is off.

    It never comes from fields of the request.

    Attributes:
        user_id: the id of the user; None only for an admin, or if authorization is off.
        session_id: the id of the session that the token is limited to, if any.
        claims: the claims of the token, deeply immutable.
        scopes: the scopes of the token.
        is_admin: the caller may do and see everything.
        is_scoped: scopes limit the caller; False if authorization is off.
        is_isolated: the caller sees only its own data, unless it is an admin.
    """

    user_id: str | None
    session_id: str | None = None
    claims: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    scopes: frozenset[str] = frozenset()
    is_admin: bool = False
    is_scoped: bool = True
    is_isolated: bool = True

    def __post_init__(self) -> None:
        """Rejects an isolated caller without a user id, which might otherwise see all data."""
        if not self.user_id and not self.is_admin:
            raise ValueError("a caller without the admin scope must have a user id")

    @classmethod
    def of(cls, token: VerifiedToken, config: AuthorizationConfig) -> Identity:
        """Returns the caller of a verified token."""
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
        """Returns the user whose traces, sessions and runs this caller sees; None if it sees all users' data."""
        return self.user_id if self.is_isolated and not self.is_admin else None

    def allows(self, need: Need | None, resource_id: str | None = None) -> bool:
        """Returns whether this caller has the scopes for a route; see `scopes.allows`."""
        may_do_all = self.is_admin or not self.is_scoped
        return need is not None and (may_do_all or granting.allows(self.scopes, need, resource_id))

    def visible_ids(self, need: Need) -> frozenset[str] | None:
        """Returns the ids that a list may show to this caller: None for all, never an empty set.

        Raises:
            ForbiddenError: the caller may see no resource of this type.
        """
        if self.is_admin or not self.is_scoped:
            return None
        ids = granting.visible_ids(self.scopes, need)
        if ids is not None and not ids:
            raise granting.forbidden(self.scopes, need)
        return ids

    def authorize(self, need: Need | None, resource_id: str | None = None) -> None:
        """Checks that this caller has the scopes for a route.

        Raises:
            ForbiddenError: it does not.
        """
        if not self.allows(need, resource_id):
            raise granting.forbidden(self.scopes, need, resource_id)


EVERYONE = Identity(user_id=None, is_admin=True, is_isolated=False)
"""The caller if authorization is off. It may do everything and is not verified."""


def bearer_token(authorization: Sequence[str]) -> str:
    """Returns the token of a request from its header. Query parameters, cookies and form fields are ignored.

    Args:
        authorization: the values of all `Authorization` headers of the request.

    Raises:
        UnauthenticatedError: the header is missing, repeated or too long, or is not `Bearer <token>`.
    """
    if not any(authorization):
        raise UnauthenticatedError("Authorization header missing")
    if len(authorization) > 1:
        raise UnauthenticatedError("Authorization header given more than once")
    if len(authorization[0]) > MAX_HEADER_BYTES:
        raise UnauthenticatedError(f"Invalid token: longer than {MAX_TOKEN_BYTES} bytes")
    found = _BEARER.fullmatch(authorization[0])
    if not found:
        raise UnauthenticatedError("Authorization header must be `Bearer <token>`")
    return found[1]


def bearer_of_basic(authorization: str) -> str:
    """Returns a Basic `Authorization` header as a Bearer header whose token is the password; others unchanged.

    Source: RFC 7617, section 2.

    >>> bearer_of_basic("Basic cHVibGljOnNlY3JldA==")
    'Bearer secret'
    """
    found = _BASIC.fullmatch(authorization) if len(authorization) <= MAX_BASIC_BYTES else None
    if not found:
        return authorization
    try:
        _, _, password = b64decode(found[1], validate=True).decode().partition(":")
    except ValueError:  # not base64, or not UTF-8
        return authorization
    return f"Bearer {password}"


def prefer_verified(verified: str | None, given: str | None) -> str | None:
    """Returns the verified user or session id if there is one, otherwise the id given in the request."""
    return given if verified is None else verified
