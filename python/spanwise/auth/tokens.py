"""Is this token genuine, ours, and still good? And what does it say?

PyJWT and cryptography verify the signature; everything around it is decided here, because a library accepts
what a service must not: tokens without end, without subject, for another purpose, or readable in two ways.
Source: design, section 9; RFC 7515, 7519, 8725.
"""

from __future__ import annotations

import asyncio
import base64
import re
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from spanwise.auth.claims import read_claims
from spanwise.auth.strict_json import read_object
from spanwise.errors import UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanwise.auth.claims import VerifiedToken
    from spanwise.auth.config import AuthorizationConfig
    from spanwise.auth.key_ring import KeyRing
    from spanwise.auth.keys import VerificationKey

LONGEST_TOKEN = 8 * 1024
LONGEST_CACHED_SECONDS = 60.0
MOST_CACHED = 4096
MOST_HEADERS = 128
LONGEST_WAIT_SECONDS = 10.0
"""For the fetch of a key that nobody has seen yet."""
_ACCESS_TYPES = {"jwt", "at+jwt"}
_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class UnknownKeyError(UnauthenticatedError):
    """The token names a key that no JWKS has; one that is fetched may have it."""


@dataclass(frozen=True)
class _Header:
    algorithm: str
    kid: str | None


@dataclass(frozen=True)
class _Cached:
    token: VerifiedToken
    key: VerificationKey
    since: float
    until: float


class TokenVerifier:
    """Verifies tokens with the keys that count at that moment.

    A verified token is remembered by its hash, until it expires but at most a minute, and not longer than the
    key that verified it counts. A token that was refused is never remembered.
    """

    def __init__(self, config: AuthorizationConfig, keys: KeyRing, clock: Callable[[], float] = time.time) -> None:
        """Verifies as `config` says.

        Args:
            config: what tokens must say.
            keys: who may sign them.
            clock: seconds since 1970.
        """
        self._config = config
        self._keys = keys
        self._clock = clock
        self._cache: dict[bytes, _Cached] = {}
        self._lock = threading.Lock()

    def verify(self, token: str) -> VerifiedToken:
        """Returns what `token` says, without waiting for anybody.

        Raises:
            UnauthenticatedError: it is not genuine, not ours, not good any more, or says too little. The text
                never holds any of it.
        """
        if len(token) > LONGEST_TOKEN:
            raise UnauthenticatedError(f"Invalid token: longer than {LONGEST_TOKEN} bytes")
        if not _COMPACT.fullmatch(token):
            raise UnauthenticatedError("Invalid token: Not enough segments")
        digest = sha256(token.encode()).digest()
        now = self._clock()
        cached = self._cache.get(digest)
        if cached and cached.since <= now < cached.until and cached.key in self._keys.current():
            return cached.token
        header, claims, signature = token.split(".")
        message = token[: -len(signature) - 1].encode()
        key = self._signer(message, signature, _read_header(header, self._config.required_typ))
        verified = read_claims(_read_segment(claims, "payload"), self._config, now)
        self._remember(digest, _Cached(verified, key, now, min(verified.expires_at, now + LONGEST_CACHED_SECONDS)))
        return verified

    async def verify_or_fetch(self, token: str) -> VerifiedToken:
        """Returns what `token` says. If it names a key that nobody has seen yet, waits for one fetch of the JWKS.

        Raises:
            UnauthenticatedError: see `verify`.
        """
        try:
            return self.verify(token)
        except UnknownKeyError:
            fetched = self._keys.refetch()
            if fetched is None:
                raise
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(fetched), LONGEST_WAIT_SECONDS)
        return self.verify(token)

    def _signer(self, message: bytes, signature: str, header: _Header) -> VerificationKey:
        keys = self._keys.current()
        candidates = list(keys.candidates(header.kid, header.algorithm))
        decoded = _decoded(signature)
        if decoded is not None:
            for key in candidates:
                if key.verifies(message, decoded):
                    return key
        is_unknown = header.kid is not None and not keys.names(header.kid)
        if candidates:
            why = "Signature verification failed"
        elif is_unknown:
            why = "No verification key matches"
        else:
            why = "The specified alg value is not allowed"
        raise (UnknownKeyError if is_unknown else UnauthenticatedError)(f"Invalid token: {why}")

    def _remember(self, digest: bytes, cached: _Cached) -> None:
        with self._lock:
            self._cache.pop(digest, None)
            if len(self._cache) >= MOST_CACHED:
                del self._cache[next(iter(self._cache))]
            self._cache[digest] = cached


@lru_cache(maxsize=MOST_HEADERS)
def _read_header(segment: str, required_typ: str | None) -> _Header:
    """Returns what the header says, if there is nothing in it that we would have to understand and do not.

    Tokens of one signer have one header, so it is read once; one that is refused is never remembered.
    """
    header = _read_segment(segment, "header")
    algorithm = header.get("alg")
    if not isinstance(algorithm, str):
        raise UnauthenticatedError("Invalid token: The specified alg value is not allowed")
    kid = header.get("kid")
    if "kid" in header and not isinstance(kid, str):
        raise UnauthenticatedError("Invalid token: Key ID header parameter must be a string")
    if "crit" in header or "b64" in header:
        raise UnauthenticatedError("Invalid token: Unsupported critical extension")
    _check_typ(header, required_typ)
    return _Header(algorithm, kid)


def _check_typ(header: Mapping[str, Any], required_typ: str | None) -> None:
    typ = header.get("typ", "" if required_typ else "JWT")
    accepted = {_media_type(required_typ)} if required_typ else _ACCESS_TYPES
    if not isinstance(typ, str) or _media_type(typ) not in accepted:
        raise UnauthenticatedError("Invalid token: The specified typ value is not allowed")


def _media_type(typ: str) -> str:
    """Returns a media type as it is compared: without case, `application/` left out (RFC 7515, 4.1.9)."""
    return typ.lower().removeprefix("application/")


def _read_segment(segment: str, name: str) -> dict[str, Any]:
    """Returns the JSON object in a segment, which must be written in the one way there is."""
    decoded = _decoded(segment)
    try:
        if decoded is not None:
            return read_object(decoded)
    except ValueError:
        pass
    raise UnauthenticatedError(f"Invalid token: Invalid {name} string")


def _decoded(segment: str) -> bytes | None:
    """Returns the bytes that a segment stands for; None if it is not written in the one way there is."""
    try:
        decoded = base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4))
    except ValueError:
        return None
    is_canonical = base64.urlsafe_b64encode(decoded).rstrip(b"=") == segment.encode()
    return decoded if is_canonical else None
