"""All verification keys from all sources, and the current key set.

Source: `docs/reference/tokens.md#keys`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from spanwise.auth.jwks_file import JwksFile
from spanwise.auth.jwks_url import JwksUrl, fetch
from spanwise.auth.key_sets import MAX_KEYS, KeySet
from spanwise.auth.keys import InvalidKeyError, key_from_text
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from spanwise.auth.config import KeyMaterial
    from spanwise.auth.keys import VerificationKey


class KeyRing:
    """The keys from code, settings, JWKS file and JWKS URL. The keys of the last two may change."""

    def __init__(
        self,
        material: KeyMaterial,
        clock: Callable[[], float] = time.monotonic,
        fetch: Callable[[str], bytes] = fetch,
    ) -> None:
        """Loads all keys.

        Args:
            material: the sources of keys.
            clock: monotonic time in seconds.
            fetch: returns the response body of a URL; raises FetchError.

        Raises:
            ConfigurationError: there is no key, there are too many, or one is not usable. The message names the
                source and the reason; it never contains the key.
        """
        if not material.sources:
            raise ConfigurationError(
                "authorization is on, but there is no verification key: set `JWT_VERIFICATION_KEY`, `JWT_JWKS_FILE` "
                "or `JWT_JWKS_URL`, or pass keys to `AuthorizationConfig`"
            )
        if len(material.keys) > MAX_KEYS:
            raise ConfigurationError(f"there are {len(material.keys)} verification keys; expected at most {MAX_KEYS}")
        self._keys = tuple(_load(source, text, material.algorithm) for source, text in material.keys)
        self._file = JwksFile(*material.jwks_file, material.algorithm, clock) if material.jwks_file else None
        self._url = JwksUrl(*material.jwks_url, material.algorithm, fetch, clock) if material.jwks_url else None
        self._current = KeySet(self._jwks(), self._keys)

    def current(self) -> KeySet:
        """Returns the current key set; the same object as long as no key changes."""
        jwks = self._jwks()
        current = self._current
        if jwks != current.jwks:
            self._current = current = KeySet(jwks, self._keys)
        return current

    def refetch(self) -> Future[None] | None:
        """Requests a fetch of the JWKS URL, if there is one; see `JwksUrl.refetch`."""
        return self._url.refetch() if self._url else None

    @property
    def jwks_age_seconds(self) -> float | None:
        """Returns the seconds since the last successful fetch of the JWKS URL; None without a URL."""
        return self._url.age_seconds if self._url else None

    def close(self) -> None:
        """Stops the background refresh."""
        if self._url:
            self._url.close()

    def _jwks(self) -> tuple[VerificationKey, ...]:
        return (*(self._file.keys() if self._file else ()), *(self._url.keys() if self._url else ()))


def _load(source: str, text: str, algorithm: str) -> VerificationKey:
    try:
        return key_from_text(text, algorithm)
    except InvalidKeyError as error:
        raise ConfigurationError(f"the key given by {source} {error}") from None
