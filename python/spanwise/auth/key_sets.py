"""Immutable sets of verification keys, and parsing of JWKS."""

from __future__ import annotations

import codecs
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
        self._of_algorithm: dict[str, dict[bytes, VerificationKey]] = {}
        for key in self.jwks:
            self._of_algorithm.setdefault(key.algorithm, {}).setdefault(key.fingerprint, key)
        self._keys = tuple(keys)
        self._all = frozenset((*self.jwks, *self._keys))

    def candidates(self, kid: str | None, algorithm: str) -> Iterator[VerificationKey]:
        """Yields the keys to try: first matching JWKS keys, then all other keys.

        JWKS keys match by `kid`. If no JWKS key has this `kid`, the JWKS keys without one match. A token without `kid`
        also matches the only JWKS key of its algorithm.

        Args:
            kid: the key id in the token header, if any.
            algorithm: the algorithm in the token header; keys bound to another one are skipped.
        """
        found: Iterable[VerificationKey] = self._nameless
        if kid is not None:
            found = self._named.get(kid, self._nameless)
        elif len(fitting := self._of_algorithm.get(algorithm, {})) == 1:
            found = fitting.values()
        yield from (key for key in (*found, *self._keys) if key.algorithm == algorithm)

    def requires_kid(self, algorithm: str) -> bool:
        """Returns whether several JWKS keys fit this algorithm, so that a token must have a `kid`."""
        fitting = self._of_algorithm.get(algorithm, {})
        return len(fitting) > 1 and any(key.kid is not None for key in fitting.values())

    def names(self, kid: str | None) -> bool:
        """Returns whether a JWKS has a key with this id."""
        return kid in self._named

    def __contains__(self, key: VerificationKey) -> bool:
        """Returns whether `key` is in this set."""
        return key in self._all

    def __len__(self) -> int:
        """Returns the number of keys."""
        return len(self._all)


def is_empty_jwks(source: bytes) -> bool:
    """Returns whether a valid JWKS has no keys."""
    return not read_object(source.removeprefix(codecs.BOM_UTF8))["keys"]


def read_jwks(
    source: bytes, algorithm: str, *, is_trusted: bool, origin: str = "the JWKS"
) -> tuple[VerificationKey, ...]:
    """Returns the signature keys of a JWKS.

    Keys for other uses are skipped. Unusable keys are skipped with a warning, as RFC 7517 (5) advises.

    Args:
        source: the bytes of the JWKS, which may begin with a byte order mark.
        algorithm: the algorithm of keys without `alg`.
        is_trusted: whether the operator wrote it. Only a trusted JWKS may contain shared secrets.
        origin: the name of the JWKS in warnings.

    Raises:
        InvalidKeyError: it is not a JWKS, is over its limits, or all its keys for signatures are unusable.
    """
    if len(source) > MAX_JWKS_BYTES:
        raise InvalidKeyError(f"is larger than {MAX_JWKS_BYTES} bytes")
    try:
        members = read_object(source.removeprefix(codecs.BOM_UTF8))
    except ValueError as error:
        raise InvalidKeyError(f"is not a JWKS: {error}") from None
    jwks = members.get("keys")
    if not isinstance(jwks, list):
        raise InvalidKeyError("is not a JWKS: `keys` must be an array of objects")
    if len(jwks) > MAX_KEYS:
        raise InvalidKeyError(f"contains {len(jwks)} keys; expected at most {MAX_KEYS}")
    keys: list[VerificationKey] = []
    unusable: list[str] = []
    for index, jwk in enumerate(jwks):
        try:
            keys.extend(_signature_keys(jwk, algorithm, is_trusted=is_trusted))
        except InvalidKeyError as error:
            unusable.append(f"`keys[{index}]` {error}")
    if unusable and not keys:
        raise InvalidKeyError(f"is not usable: {unusable[0]}")
    for reason in unusable:
        _log.warning("skipped a key of %s: %s", origin, reason)
    return tuple(keys)


def _signature_keys(jwk: object, algorithm: str, *, is_trusted: bool) -> list[VerificationKey]:
    """Returns the key of a JWK, or an empty list if it is for another use."""
    if not isinstance(jwk, dict):
        raise InvalidKeyError("is not an object")
    if not _is_for_signatures(jwk):
        return []
    if jwk.get("kty") == "oct" and not is_trusted:
        raise InvalidKeyError("is a shared secret, which must not be published")
    return [key_from_jwk(jwk, algorithm)]


def _is_for_signatures(jwk: dict[str, Any]) -> bool:
    use, operations = jwk.get("use") or "sig", jwk.get("key_ops") or ["verify"]
    return use == "sig" and (not isinstance(operations, list) or "verify" in operations)
