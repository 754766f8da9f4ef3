"""A JWKS in a file that may change while the service runs."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.auth.key_sets import LARGEST_JWKS_BYTES, read_jwks
from spanwise.auth.keys import KeyFault
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.auth.keys import VerificationKey

CHECK_SECONDS = 1.0

_log = logging.getLogger(__name__)


class JwksFile:
    """The keys of a JWKS file.

    The file is read again at most once a second, when someone asks for its keys. One that is missing or not
    usable then changes nothing: the last good keys stay. A good one without a key takes that key away.
    """

    def __init__(self, source: str, path: str, algorithm: str, clock: Callable[[], float]) -> None:
        """Reads the file.

        Args:
            source: where `path` was given, for messages.
            path: the path.
            algorithm: what a key is bound to that has no `alg`.
            clock: seconds that only grow.

        Raises:
            ConfigurationError: the file cannot be read, is not usable, or holds no key.
        """
        self._source = source
        self._path = Path(path)
        self._algorithm = algorithm
        self._clock = clock
        self._lock = threading.Lock()
        self._checked_at = clock()
        self._fault = ""
        try:
            self._text = self._read()
            self._keys = read_jwks(self._text, algorithm, is_ours=True)
        except (OSError, KeyFault) as error:
            raise ConfigurationError(f"the JWKS file that {source} names {_why(error)}") from None
        if not self._keys:
            raise ConfigurationError(f"the JWKS file that {source} names holds no key for signatures")

    def keys(self) -> tuple[VerificationKey, ...]:
        """Returns the keys; the same tuple as long as the file holds the same bytes."""
        if self._clock() - self._checked_at >= CHECK_SECONDS and self._lock.acquire(blocking=False):
            try:
                self._check()
            finally:
                self._lock.release()
        return self._keys

    def _check(self) -> None:
        self._checked_at = self._clock()
        fault = ""
        try:
            text = self._read()
            if text != self._text:
                self._keys = read_jwks(text, self._algorithm, is_ours=True)
                self._text = text
                _log.info("read the JWKS file that %s names again: %d keys", self._source, len(self._keys))
        except (OSError, KeyFault) as error:
            fault = _why(error)
        if fault and fault != self._fault:
            _log.error("kept the last good keys: the JWKS file that %s names %s", self._source, fault)
        self._fault = fault

    def _read(self) -> bytes:
        with self._path.open("rb") as file:
            return file.read(LARGEST_JWKS_BYTES + 1)


def _why(error: OSError | KeyFault) -> str:
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
