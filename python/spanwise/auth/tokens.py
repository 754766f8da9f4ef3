"""Token verification: signature, header and claims, with a cache of verified tokens.

PyJWT and cryptography verify the signature. All other checks are made here, because libraries accept tokens that a
service must reject: tokens without expiry or subject, for another purpose, or with an ambiguous encoding.
Source: `docs/reference/tokens.md#verification`; RFC 7515, 7519, 8725.
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

from spanwise.auth.algorithms import canonical
from spanwise.auth.claims import read_claims
from spanwise.auth.identity import MAX_TOKEN_BYTES
from spanwise.errors import UnauthenticatedError
from spanwise.strict_json import read_object

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from spanwise.auth.claims import VerifiedToken
    from spanwise.auth.config import AuthorizationConfig
    from spanwise.auth.key_ring import KeyRing
    from spanwise.auth.keys import VerificationKey

MAX_CACHE_SECONDS = 60.0
MAX_CACHED_TOKENS = 4096
MAX_CACHED_HEADERS = 128
MAX_FETCH_WAIT_SECONDS = 10.0
"""Seconds that a request waits for a fetch of the JWKS when its token names an unknown key."""
_ACCESS_TYPES = {"jwt", "at+jwt"}
_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class UnknownKeyError(UnauthenticatedError):
    """The token names a key that is in no JWKS. A later fetch may find it."""


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
    """Verifies tokens with the current keys.

    The cache holds verified tokens by hash until they expire, at most one minute, and only while their key is in the
    current key set. Rejected tokens are never cached.
    """

    def __init__(self, config: AuthorizationConfig, keys: KeyRing, clock: Callable[[], float] = time.time) -> None:
        """Creates a verifier.

        Args:
            config: the requirements for claims and header.
            keys: the verification keys.
            clock: Unix time in seconds.
        """
        self._config = config
        self._keys = keys
        self._clock = clock
        self._cache: dict[bytes, _Cached] = {}
        self._lock = threading.Lock()

    def knows(self, token: str) -> bool:
        """Returns whether `token` was verified before and not rejected since. It may have expired in the meantime."""
        return len(token) <= MAX_TOKEN_BYTES and _digest(token) in self._cache

    def verify(self, token: str) -> VerifiedToken:
        """Returns the contents of `token`, without waiting for a fetch of keys.

        Raises:
            UnauthenticatedError: its signature, header or claims are invalid. The message never contains any part of
                the token.
        """
        if len(token) > MAX_TOKEN_BYTES:
            raise UnauthenticatedError(f"Invalid token: longer than {MAX_TOKEN_BYTES} bytes")
        if not _COMPACT.fullmatch(token):
            raise UnauthenticatedError("Invalid token: Not enough segments")
        digest = _digest(token)
        now = self._clock()
        cached = self._cache.get(digest)
        if cached and cached.since <= now < cached.until and cached.key in self._keys.current():
            return cached.token
        self._forget(digest)
        header, claims, signature = token.split(".")
        message = token[: -len(signature) - 1].encode()
        key = self._signer(message, signature, _read_header(header, self._config.required_typ))
        verified = read_claims(_read_segment(claims, "payload"), self._config, now)
        self._remember(digest, _Cached(verified, key, now, min(verified.expires_at, now + MAX_CACHE_SECONDS)))
        return verified

    async def verify_or_fetch(self, token: str) -> VerifiedToken:
        """Returns the contents of `token`. If it names an unknown key, waits for one fetch of the JWKS.

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
            await asyncio.wait_for(asyncio.wrap_future(fetched), MAX_FETCH_WAIT_SECONDS)
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
        if header.kid is None and keys.requires_kid(header.algorithm):
            why = "Key ID header parameter is missing, and several keys fit"
        elif candidates:
            why = "Signature verification failed"
        elif is_unknown:
            why = "No verification key matches"
        else:
            why = "The specified alg value is not allowed"
        raise (UnknownKeyError if is_unknown else UnauthenticatedError)(f"Invalid token: {why}")

    def _forget(self, digest: bytes) -> None:
        with self._lock:
            self._cache.pop(digest, None)

    def _remember(self, digest: bytes, cached: _Cached) -> None:
        with self._lock:
            self._cache.pop(digest, None)
            if len(self._cache) >= MAX_CACHED_TOKENS:
                del self._cache[next(iter(self._cache))]
            self._cache[digest] = cached


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


@lru_cache(maxsize=MAX_CACHED_HEADERS)
def _read_header(segment: str, required_typ: str | None) -> _Header:
    """Returns the header. Rejects critical extensions.

    Tokens of one signer share a header, so accepted headers are cached.
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
    return _Header(canonical(algorithm), kid)


def _check_typ(header: Mapping[str, Any], required_typ: str | None) -> None:
    typ = header.get("typ", "" if required_typ else "JWT")
    accepted = {_media_type(required_typ)} if required_typ else _ACCESS_TYPES
    if not isinstance(typ, str) or _media_type(typ) not in accepted:
        raise UnauthenticatedError("Invalid token: The specified typ value is not allowed")


def _media_type(typ: str) -> str:
    """Returns a media type in lower case and without `application/`, for comparison (RFC 7515, 4.1.9)."""
    return typ.lower().removeprefix("application/")


def _read_segment(segment: str, name: str) -> dict[str, Any]:
    """Returns the JSON object in a segment. Rejects an encoding that is not canonical."""
    decoded = _decoded(segment)
    try:
        if decoded is not None:
            return read_object(decoded)
    except ValueError:
        pass
    raise UnauthenticatedError(f"Invalid token: Invalid {name} string")


def _decoded(segment: str) -> bytes | None:
    """Returns the bytes of a segment; None if it is not canonical base64url."""
    try:
        decoded = base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4))
    except ValueError:
        return None
    is_canonical = base64.urlsafe_b64encode(decoded).rstrip(b"=") == segment.encode()
    return decoded if is_canonical else None
