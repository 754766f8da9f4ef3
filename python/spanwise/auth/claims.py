"""What a genuine token says: for whom it is, how long it is good, what it allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from spanwise.auth.strict_json import frozen
from spanwise.errors import UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.auth.config import AuthorizationConfig

LATEST_SECONDS = 253_402_300_799
"""The last second of the year 9999. A greater `exp` is milliseconds, or meant to be for ever."""
LONGEST_NAME = 256
RESERVED_PREFIXES = ("sa:", "__oauth__:")
RESERVED_NAMES = frozenset({"__scheduler__"})


class ExpiredTokenError(UnauthenticatedError):
    """The token was good once."""


@dataclass(frozen=True)
class VerifiedToken:
    """What a verified token says.

    Attributes:
        claims: everything it says, read-only at any depth.
        scopes: what it allows.
        user_id: who the caller is; never empty.
        session_id: the session it is for, if it is for one.
        expires_at: until when it is good, in seconds since 1970.
    """

    claims: Mapping[str, Any]
    scopes: frozenset[str]
    user_id: str
    session_id: str | None
    expires_at: float


def read_claims(claims: Mapping[str, Any], config: AuthorizationConfig, now: float) -> VerifiedToken:
    """Returns what `claims` say at the moment `now`, in seconds since 1970.

    Raises:
        UnauthenticatedError: a claim is missing, not of its type, or not what `config` asks for.
    """
    expires_at = _check_times(claims, config.leeway, now)
    _check_parties(claims, config)
    user_id = _user_id(claims, config.user_id_claim)
    session_id = claims.get(config.session_id_claim)
    if session_id is not None and not _is_name(session_id):
        _refuse(f'Claim "{config.session_id_claim}" must be a usable string')
    scopes = _scopes(claims, config.scopes_claim)
    try:
        return VerifiedToken(frozen(claims), scopes, user_id, session_id, expires_at)
    except ValueError as error:
        _refuse(f"Claims are not usable: {error}")


def _refuse(why: str) -> NoReturn:
    raise UnauthenticatedError(f"Invalid token: {why}")


def _check_times(claims: Mapping[str, Any], leeway: float, now: float) -> float:
    """Returns when the token expires. It is good before `exp` + leeway, and from `nbf` and `iat` - leeway on."""
    if claims.get("exp") is None:
        _refuse('Token is missing the "exp" claim')
    for name in ("exp", "nbf", "iat"):
        if name not in claims:
            continue
        instant = claims[name]
        if isinstance(instant, bool) or not isinstance(instant, int | float) or not 0 <= instant <= LATEST_SECONDS:
            _refuse(f'Claim "{name}" must be a number of seconds since 1970')
        if name != "exp" and instant > now + leeway:
            _refuse(f"The token is not yet valid ({name})")
    expires_at = float(claims["exp"])
    if now >= expires_at + leeway:
        raise ExpiredTokenError("Token has expired")
    return expires_at


def _check_parties(claims: Mapping[str, Any], config: AuthorizationConfig) -> None:
    if config.issuer is not None and claims.get("iss") != config.issuer:
        _refuse("Invalid issuer")
    if config.audience is None:
        return
    audience = claims.get("aud")
    if audience is None:
        _refuse('Token is missing the "aud" claim')
    members = audience if isinstance(audience, list) else [audience]
    if config.audience not in members or not all(isinstance(member, str) for member in members):
        raise UnauthenticatedError("Invalid token audience - token not valid for this service")


def _user_id(claims: Mapping[str, Any], claim: str) -> str:
    user_id = claims.get(claim)
    if user_id is None:
        _refuse(f'Token is missing the "{claim}" claim')
    if not isinstance(user_id, str):
        _refuse("Subject must be a string")
    if not _is_name(user_id) or user_id.startswith(RESERVED_PREFIXES) or user_id in RESERVED_NAMES:
        raise UnauthenticatedError("Invalid token subject")
    return user_id


def _is_name(value: object) -> bool:
    """Returns whether `value` can name someone: printable text that is the same to the eye and to us."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable() and value == value.strip()


def _scopes(claims: Mapping[str, Any], claim: str) -> frozenset[str]:
    """Returns the scopes of the claim, or of `scope` where it is absent: an array, or text split at spaces."""
    name = claim if claims.get(claim) is not None else "scope"
    value = claims.get(name)
    if value is None:
        return frozenset()
    if isinstance(value, str):
        return frozenset(value.split(" ")) - {""}
    if not isinstance(value, list) or not all(isinstance(scope, str) for scope in value):
        _refuse(f'Claim "{name}" must be an array of strings or a string')
    return frozenset(value)
