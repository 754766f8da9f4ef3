"""Which key may have signed a token: a set of keys at one moment, and the JWKS that such sets are read from."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from spanwise.auth.keys import KeyFault, VerificationKey, key_from_jwk
from spanwise.auth.strict_json import read_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LARGEST_JWKS_BYTES = 1024 * 1024
MOST_KEYS = 100

_log = logging.getLogger(__name__)


class KeySet:
    """The keys that count at one moment. It never changes; what changes is which set is the current one.

    Attributes:
        jwks: those of JWKS, found by `kid` where they have one.
    """

    def __init__(self, jwks: Iterable[VerificationKey] = (), keys: Iterable[VerificationKey] = ()) -> None:
        """Orders the keys.

        Args:
            jwks: those of JWKS, found by `kid` where they have one.
            keys: those without a JWKS around them, in the order in which they are tried.
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
        """Yields the keys that may have signed, in order: those of that `kid`, else the nameless ones, then the rest.

        Args:
            kid: the name of the key in the token's header, if there is one.
            algorithm: the algorithm in the token's header. A key that is bound to another one is left out.
        """
        found = self._named.get(kid, self._nameless) if kid is not None else self._nameless
        yield from (key for key in (*found, *self._keys) if key.algorithm == algorithm)

    def names(self, kid: str | None) -> bool:
        """Returns whether a JWKS has a key of this name."""
        return kid in self._named

    def __contains__(self, key: VerificationKey) -> bool:
        """Returns whether `key` counts in this set."""
        return key in self._all

    def __len__(self) -> int:
        """Returns how many keys count."""
        return len(self._all)


def read_jwks(source: bytes, algorithm: str, *, is_ours: bool) -> tuple[VerificationKey, ...]:
    """Returns the keys of a JWKS. Keys that are for something other than signatures are left out.

    Args:
        source: the bytes of the JWKS.
        algorithm: what a key is bound to that has no `alg`.
        is_ours: whether the operator wrote it. Then every key in it must be usable. In one that a stranger
            publishes, secrets are refused, and what is not usable is left out, as RFC 7517 (5) advises.

    Raises:
        KeyFault: it is no JWKS, over its limits, or holds a key that is not usable.
    """
    if len(source) > LARGEST_JWKS_BYTES:
        raise KeyFault(f"is larger than {LARGEST_JWKS_BYTES} bytes")
    try:
        members = read_object(source)
    except ValueError as error:
        raise KeyFault(f"is no JWKS: {error}") from None
    jwks = members.get("keys")
    if not (isinstance(jwks, list) and all(isinstance(jwk, dict) for jwk in jwks)):
        raise KeyFault("is no JWKS: `keys` must be an array of objects")
    if len(jwks) > MOST_KEYS:
        raise KeyFault(f"holds {len(jwks)} keys; expected at most {MOST_KEYS}")
    return tuple(_read_keys(jwks, algorithm, is_ours=is_ours))


def _read_keys(jwks: list[dict[str, Any]], algorithm: str, *, is_ours: bool) -> Iterator[VerificationKey]:
    for place, jwk in enumerate(jwks):
        if not _is_for_signatures(jwk):
            continue
        try:
            yield key_from_jwk(jwk, algorithm) if is_ours else _published_key(jwk, algorithm)
        except KeyFault as fault:
            if is_ours:
                raise KeyFault(f"is not usable: `keys[{place}]` {fault}") from None
            _log.warning("left out `keys[%d]` of the fetched JWKS: it %s", place, fault)


def _published_key(jwk: dict[str, Any], algorithm: str) -> VerificationKey:
    if jwk.get("kty") == "oct":
        raise KeyFault("is a secret, and was published")
    return key_from_jwk(jwk, algorithm)


def _is_for_signatures(jwk: dict[str, Any]) -> bool:
    operations = jwk.get("key_ops")
    return jwk.get("use", "sig") == "sig" and (not isinstance(operations, list) or "verify" in operations)
