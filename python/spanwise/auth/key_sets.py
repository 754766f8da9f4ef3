"""Immutable sets of verification keys, and parsing of JWKS."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from spanwise.auth.keys import InvalidKeyError, VerificationKey, key_from_jwk
from spanwise.strict_json import read_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_JWKS_BYTES = 1024 * 1024
MAX_KEYS = 100

_log = logging.getLogger(__name__)


class KeySet:
    """An immutable set of verification keys. When keys change, a new set replaces it.

    Attributes:
        jwks: the keys from JWKS, found by `kid` if they have one.
    """

    def __init__(self, jwks: Iterable[VerificationKey] = (), keys: Iterable[VerificationKey] = ()) -> None:
        """Indexes the keys.

        Args:
            jwks: the keys from JWKS, found by `kid` if they have one.
            keys: all other keys, in the order in which they are tried.
        """
        self.jwks = tuple(jwks)
        self._named: dict[str, list[VerificationKey]] = {}
        for key in self.jwks:
            if key.kid is not None:
                self._named.setdefault(key.kid, []).append(key)
        self._nameless = [key for key in self.jwks if key.kid is None]
        self._keys = tuple(keys)
        self._all = frozenset((*self.jwks, *self._keys))

    def candidates(self, kid: str | None, algorithm: str) -> Iterator[VerificationKey]:
        """Yields the keys to try: those with this `kid`, or else those without one, then the keys outside JWKS.

        Args:
            kid: the key id in the token header, if any.
            algorithm: the algorithm in the token header; keys bound to another one are skipped.
        """
        found = self._named.get(kid, self._nameless) if kid is not None else self._nameless
        yield from (key for key in (*found, *self._keys) if key.algorithm == algorithm)

    def names(self, kid: str | None) -> bool:
        """Returns whether a JWKS has a key with this id."""
        return kid in self._named

    def __contains__(self, key: VerificationKey) -> bool:
        """Returns whether `key` is in this set."""
        return key in self._all

    def __len__(self) -> int:
        """Returns the number of keys."""
        return len(self._all)


def read_jwks(source: bytes, algorithm: str, *, is_trusted: bool) -> tuple[VerificationKey, ...]:
    """Returns the signature keys of a JWKS. Keys for other uses are skipped.

    Args:
        source: the bytes of the JWKS.
        algorithm: the algorithm of keys without `alg`.
        is_trusted: whether the operator wrote it. In a trusted JWKS every key must be usable. In one fetched from a
            URL, unusable keys and shared secrets are skipped, as RFC 7517 (5) advises.

    Raises:
        InvalidKeyError: it is not a JWKS, is over its limits, or contains an unusable key.
    """
    if len(source) > MAX_JWKS_BYTES:
        raise InvalidKeyError(f"is larger than {MAX_JWKS_BYTES} bytes")
    try:
        members = read_object(source)
    except ValueError as error:
        raise InvalidKeyError(f"is not a JWKS: {error}") from None
    jwks = members.get("keys")
    if not (isinstance(jwks, list) and all(isinstance(jwk, dict) for jwk in jwks)):
        raise InvalidKeyError("is not a JWKS: `keys` must be an array of objects")
    if len(jwks) > MAX_KEYS:
        raise InvalidKeyError(f"contains {len(jwks)} keys; expected at most {MAX_KEYS}")
    return tuple(_read_keys(jwks, algorithm, is_trusted=is_trusted))


def _read_keys(jwks: list[dict[str, Any]], algorithm: str, *, is_trusted: bool) -> Iterator[VerificationKey]:
    for index, jwk in enumerate(jwks):
        if not _is_for_signatures(jwk):
            continue
        try:
            yield key_from_jwk(jwk, algorithm) if is_trusted else _published_key(jwk, algorithm)
        except InvalidKeyError as error:
            if is_trusted:
                raise InvalidKeyError(f"is not usable: `keys[{index}]` {error}") from None
            _log.warning("skipped `keys[%d]` of the fetched JWKS: it %s", index, error)


def _published_key(jwk: dict[str, Any], algorithm: str) -> VerificationKey:
    if jwk.get("kty") == "oct":
        raise InvalidKeyError("is a shared secret, which must not be published")
    return key_from_jwk(jwk, algorithm)


def _is_for_signatures(jwk: dict[str, Any]) -> bool:
    operations = jwk.get("key_ops")
    return jwk.get("use", "sig") == "sig" and (not isinstance(operations, list) or "verify" in operations)
