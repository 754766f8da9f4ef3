"""A JWKS file, reloaded when it changes."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.auth.key_sets import MAX_JWKS_BYTES, is_empty_jwks, read_jwks
from spanwise.auth.keys import InvalidKeyError
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.auth.keys import VerificationKey

CHECK_SECONDS = 1.0

_log = logging.getLogger(__name__)


class JwksFile:
    """The keys of a JWKS file.

    A request for the keys reads the file again, at most once per second. If the file is then missing or invalid, the
    last valid keys stay in use. Removing a key from a valid file revokes the key. The file may start empty, `{"keys":
    []}`, and get its keys later. Until then it verifies no token.
    """

    def __init__(self, source: str, path: str, algorithm: str, clock: Callable[[], float]) -> None:
        """Reads the file.

        Args:
            source: the name of the setting with `path`, for messages.
            path: the path.
            algorithm: the algorithm of keys without `alg`.
            clock: monotonic time in seconds.

        Raises:
            ConfigurationError: the file cannot be read, is invalid, or contains only keys for other uses.
        """
        self._origin = f"the JWKS file given by {source}"
        self._path = Path(path)
        self._algorithm = algorithm
        self._clock = clock
        self._lock = threading.Lock()
        self._checked_at = clock()
        self._last_error = ""
        try:
            self._text = self._read()
            self._keys = self._parse(self._text)
        except (OSError, InvalidKeyError) as error:
            raise ConfigurationError(f"{self._origin} {_reason(error)}") from None
        if not self._keys:
            if not is_empty_jwks(self._text):
                raise ConfigurationError(f"{self._origin} contains no signature key")
            _log.warning(
                "%s contains no keys, so every token is rejected; it is reloaded when it changes", self._origin
            )

    def keys(self) -> tuple[VerificationKey, ...]:
        """Returns the keys. The tuple stays the same object until the file changes."""
        if self._clock() - self._checked_at >= CHECK_SECONDS and self._lock.acquire(blocking=False):
            try:
                self._check()
            finally:
                self._lock.release()
        return self._keys

    def _check(self) -> None:
        self._checked_at = self._clock()
        error_text = ""
        try:
            text = self._read()
            if text != self._text:
                self._keys = self._parse(text)
                self._text = text
                _log.info("reloaded %s: %d keys", self._origin, len(self._keys))
        except (OSError, InvalidKeyError) as error:
            error_text = _reason(error)
        if error_text and error_text != self._last_error:
            _log.error("kept the last valid keys: %s %s", self._origin, error_text)
        self._last_error = error_text

    def _parse(self, text: bytes) -> tuple[VerificationKey, ...]:
        return read_jwks(text, self._algorithm, is_trusted=True, origin=self._origin)

    def _read(self) -> bytes:
        with self._path.open("rb") as file:
            return file.read(MAX_JWKS_BYTES + 1)


def _reason(error: OSError | InvalidKeyError) -> str:
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
