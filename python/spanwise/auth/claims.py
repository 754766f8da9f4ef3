"""Validation of token claims: subject, validity period, issuer, audience and scopes.

Source: `docs/reference/tokens.md#claims`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from spanwise.errors import UnauthenticatedError
from spanwise.strict_json import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.auth.config import AuthorizationConfig

MAX_TIMESTAMP = 253_402_300_799
"""The end of the year 9999 in Unix time. A greater `exp` is in milliseconds, or marks a token that never expires."""
MAX_NAME_LENGTH = 256
RESERVED_PREFIXES = ("sa:", "__oauth__:")
RESERVED_NAMES = frozenset({"__scheduler__"})


class ExpiredTokenError(UnauthenticatedError):
    """The token has expired."""


@dataclass(frozen=True)
class VerifiedToken:
    """The contents of a verified token.

    Attributes:
        claims: all claims, deeply immutable.
        scopes: the scopes.
        user_id: the id of the user; never empty.
        session_id: the id of the session that the token is limited to, if any.
        expires_at: the expiry in Unix time.
    """

    claims: Mapping[str, Any]
    scopes: frozenset[str]
    user_id: str
    session_id: str | None
    expires_at: float


def read_claims(claims: Mapping[str, Any], config: AuthorizationConfig, now: float) -> VerifiedToken:
    """Returns the contents of a token with these claims, valid at `now` in Unix time.

    Raises:
        UnauthenticatedError: a claim is missing, has the wrong type, or does not satisfy `config`.
    """
    expires_at = _check_times(claims, config.leeway, now)
    _check_parties(claims, config)
    user_id = _user_id(claims, config.user_id_claim)
    session_id = claims.get(config.session_id_claim)
    if session_id is not None and not is_name(session_id):
        _reject(f'Claim "{config.session_id_claim}" must be a non-empty printable string')
    scopes = _scopes(claims, config.scopes_claim)
    try:
        return VerifiedToken(frozen(claims), scopes, user_id, session_id, expires_at)
    except ValueError as error:
        _reject(f"Invalid claims: {error}")


def _reject(why: str) -> NoReturn:
    raise UnauthenticatedError(f"Invalid token: {why}")


def _check_times(claims: Mapping[str, Any], leeway: float, now: float) -> float:
    """Returns the expiry in Unix time. A token is valid from `nbf` and `iat` - leeway until `exp` + leeway."""
    if claims.get("exp") is None:
        _reject('Token is missing the "exp" claim')
    for name in ("exp", "nbf", "iat"):
        if name not in claims:
            continue
        instant = claims[name]
        if isinstance(instant, bool) or not isinstance(instant, int | float) or not 0 <= instant <= MAX_TIMESTAMP:
            _reject(f'Claim "{name}" must be a number of seconds since 1970')
        if name != "exp" and instant > now + leeway:
            _reject(f"The token is not yet valid ({name})")
    expires_at = float(claims["exp"])
    if now >= expires_at + leeway:
        raise ExpiredTokenError("Token has expired")
    return expires_at


def _check_parties(claims: Mapping[str, Any], config: AuthorizationConfig) -> None:
    if config.issuer is not None and claims.get("iss") != config.issuer:
        _reject("Invalid issuer")
    if config.audience is None:
        return
    audience = claims.get("aud")
    if audience is None:
        _reject('Token is missing the "aud" claim')
    members = audience if isinstance(audience, list) else [audience]
    if config.audience not in members or not all(isinstance(member, str) for member in members):
        raise UnauthenticatedError("Invalid token audience - token not valid for this service")


def _user_id(claims: Mapping[str, Any], claim: str) -> str:
    user_id = claims.get(claim)
    if user_id is None:
        _reject(f'Token is missing the "{claim}" claim')
    if not isinstance(user_id, str):
        _reject("Subject must be a string")
    if not is_name(user_id) or user_id.startswith(RESERVED_PREFIXES) or user_id in RESERVED_NAMES:
        raise UnauthenticatedError("Invalid token subject")
    return user_id


def is_name(value: object) -> bool:
    """Returns whether `value` is a usable name: printable, of limited length, without surrounding whitespace."""
    return (
        isinstance(value, str) and 0 < len(value) <= MAX_NAME_LENGTH and value.isprintable() and value == value.strip()
    )


def _scopes(claims: Mapping[str, Any], claim: str) -> frozenset[str]:
    """Returns the scopes in `claim`, or in `scope` if it is absent: an array, or a string separated by spaces."""
    name = claim if claims.get(claim) is not None else "scope"
    value = claims.get(name)
    if value is None:
        return frozenset()
    if isinstance(value, str):
        return frozenset(value.split(" ")) - {""}
    if not isinstance(value, list) or not all(isinstance(scope, str) for scope in value):
        _reject(f'Claim "{name}" must be an array of strings or a string')
    return frozenset(value)
