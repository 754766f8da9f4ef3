"""All verification keys from all sources, and the current key set.

Source: `docs/reference/tokens.md#keys`.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from itertools import chain
from typing import TYPE_CHECKING

from spanwise.auth.jwks_file import JwksFile
from spanwise.auth.jwks_url import JwksUrl, fetch
from spanwise.auth.key_sets import MAX_KEYS, KeySet
from spanwise.auth.keys import InvalidKeyError, key_from_text
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanwise.auth.config import KeyMaterial
    from spanwise.auth.keys import VerificationKey


class KeyRing:
    """The keys from code, settings, JWKS files and JWKS URLs. Keys from files and URLs may change."""

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
        self._files = [JwksFile(*file, material.algorithm, clock) for file in material.jwks_files]
        self._urls: list[JwksUrl] = []
        try:
            for url in material.jwks_urls:
                self._urls.append(JwksUrl(*url, material.algorithm, fetch, clock))
        except ConfigurationError:
            self.close()
            raise
        self._current = KeySet(self._jwks(), self._keys)

    def current(self) -> KeySet:
        """Returns the current key set. It stays the same object until a key changes."""
        jwks = self._jwks()
        current = self._current
        if jwks != current.jwks:
            self._current = current = KeySet(jwks, self._keys)
        return current

    def refetch(self) -> Future[None] | None:
        """Requests a fetch of every JWKS URL; see `JwksUrl.refetch`. The future is done when all fetches are done."""
        fetches = [fetching for url in self._urls if (fetching := url.refetch())]
        return _all_done(fetches) if len(fetches) > 1 else next(iter(fetches), None)

    @property
    def jwks_age_seconds(self) -> float | None:
        """Returns the seconds since the last successful fetch of the oldest JWKS. None without a URL."""
        return max((url.age_seconds for url in self._urls), default=None)

    def close(self) -> None:
        """Stops the background refresh."""
        for url in self._urls:
            url.close()

    def _jwks(self) -> tuple[VerificationKey, ...]:
        keys = (*(file.keys() for file in self._files), *(url.keys() for url in self._urls))
        return tuple(chain.from_iterable(keys))


def _all_done(fetches: Iterable[Future[None]]) -> Future[None]:
    done: Future[None] = Future()
    done.set_running_or_notify_cancel()  # cancelling one caller must not cancel the others
    remaining = iter(fetches)

    def wait_for_next(_: object = None) -> None:
        fetching = next(remaining, None)
        if fetching is None:
            done.set_result(None)
        else:
            fetching.add_done_callback(wait_for_next)

    wait_for_next()
    return done


def _load(source: str, text: str, algorithm: str) -> VerificationKey:
    try:
        return key_from_text(text, algorithm)
    except InvalidKeyError as error:
        raise ConfigurationError(f"the key given by {source} {error}") from None
