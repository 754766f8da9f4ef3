"""All sources of keys together, and the set of keys that counts now."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from spanwise.auth.jwks_file import JwksFile
from spanwise.auth.jwks_url import JwksUrl, fetch
from spanwise.auth.key_sets import MOST_KEYS, KeySet
from spanwise.auth.keys import KeyFault, key_from_text
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from spanwise.auth.config import KeyMaterial
    from spanwise.auth.keys import VerificationKey


class KeyRing:
    """The keys of code, environment, JWKS file and JWKS address; those of the last two may change."""

    def __init__(
        self,
        material: KeyMaterial,
        clock: Callable[[], float] = time.monotonic,
        fetch: Callable[[str], bytes] = fetch,
    ) -> None:
        """Loads every key; every single one must be usable.

        Args:
            material: where keys come from.
            clock: seconds that only grow.
            fetch: how the bytes at an address are fetched; raises FetchError.

        Raises:
            ConfigurationError: there is no key, there are too many, or one is not usable. The message names the
                source and the reason, never the key.
        """
        if not material.sources:
            raise ConfigurationError(
                "authorization is on and no key is given: set `JWT_VERIFICATION_KEY`, `JWT_JWKS_FILE` or "
                "`JWT_JWKS_URL`, or give `AuthorizationConfig` keys"
            )
        if len(material.keys) > MOST_KEYS:
            raise ConfigurationError(f"there are {len(material.keys)} verification keys; expected at most {MOST_KEYS}")
        self._keys = tuple(_load(source, text, material.algorithm) for source, text in material.keys)
        self._file = JwksFile(*material.jwks_file, material.algorithm, clock) if material.jwks_file else None
        self._url = JwksUrl(*material.jwks_url, material.algorithm, fetch, clock) if material.jwks_url else None
        self._current = KeySet(self._jwks(), self._keys)

    def current(self) -> KeySet:
        """Returns the set that counts now; the same one as long as nothing changed."""
        jwks = self._jwks()
        current = self._current
        if jwks != current.jwks:
            self._current = current = KeySet(jwks, self._keys)
        return current

    def refetch(self) -> Future[None] | None:
        """Asks the JWKS address, if there is one, for a key that nobody has seen yet; see `JwksUrl.refetch`."""
        return self._url.refetch() if self._url else None

    @property
    def jwks_age_seconds(self) -> float | None:
        """Returns how long ago the JWKS was last fetched; None without an address."""
        return self._url.age_seconds if self._url else None

    def close(self) -> None:
        """Ends what runs in the background."""
        if self._url:
            self._url.close()

    def _jwks(self) -> tuple[VerificationKey, ...]:
        return (*(self._file.keys() if self._file else ()), *(self._url.keys() if self._url else ()))


def _load(source: str, text: str, algorithm: str) -> VerificationKey:
    try:
        return key_from_text(text, algorithm)
    except KeyFault as fault:
        raise ConfigurationError(f"the key of {source} {fault}") from None
