"""Tokens assembled by hand, valid or not, and their verifiers."""

from __future__ import annotations

import json
import threading
from base64 import urlsafe_b64encode
from functools import cache
from typing import TYPE_CHECKING, Any

import jwt
import pytest

from spanwise.auth.config import AuthorizationConfig, key_material
from spanwise.auth.jwks_url import FetchError
from spanwise.auth.key_ring import KeyRing
from spanwise.auth.minting import SigningKey, new_signing_key
from spanwise.auth.tokens import TokenVerifier
from spanwise.errors import UnauthenticatedError
from spanwise.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = 1_700_000_000
SECRET = "a secret of more than thirty-two bytes"  # noqa: S105  # not used by any service
CLAIMS: dict[str, Any] = {"sub": "alice", "exp": NOW + 600, "scopes": ["traces:read"]}


@cache
def key(name: str, algorithm: str = "RS256") -> SigningKey:
    """Returns the signing key with this name; always the same one."""
    assert name
    return SigningKey("HS256", SECRET.encode()) if algorithm == "HS256" else new_signing_key(algorithm)


def public_pem(signing: SigningKey) -> str:
    """Returns the public key that verifies signatures of `signing`."""
    return signing.public_text or signing.private_text.strip()


def segment(value: object) -> str:
    """Returns one part of a token: a JSON value or raw bytes, in base64url."""
    raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def forge(
    header: object = None, claims: object = None, signing: SigningKey | None = None, algorithm: str | None = None
) -> str:
    """Returns a token with a genuine signature over the given header and claims."""
    signing = signing or key("own")
    algorithm = algorithm or signing.algorithm
    header = {"alg": algorithm, "typ": "JWT"} if header is None else header
    message = f"{segment(header)}.{segment(CLAIMS if claims is None else claims)}"
    signature = jwt.get_algorithm_by_name(algorithm).sign(message.encode(), signing.material)
    return f"{message}.{segment(signature)}"


def key_ring(environ: Mapping[str, str] | None = None, /, **config: object) -> KeyRing:
    """Returns the key ring of a configuration."""
    return KeyRing(key_material(_config(config), load_settings(environ=environ or {})))


def verifier(now: float = NOW, **config: object) -> TokenVerifier:
    """Returns a verifier of tokens signed by the key `own`, at the time `now`."""
    given = {"verification_keys": [public_pem(key("own"))], **config}
    return TokenVerifier(_config(given), key_ring(None, **given), lambda: now)


def _config(given: Mapping[str, object]) -> AuthorizationConfig:
    return AuthorizationConfig(**given)  # type: ignore[arg-type]  # tests pass any option


def rejection(token: str, verifying: TokenVerifier | None = None) -> str:
    """Returns why `token` is rejected. Verifies it twice, because a rejected token must not come from the cache."""
    verifying = verifying or verifier()
    texts = set()
    for _ in range(2):
        with pytest.raises(UnauthenticatedError) as error:
            verifying.verify(token)
        texts.add(str(error.value))
    assert len(texts) == 1
    (text,) = texts
    assert all(part not in text for part in token.split(".") if len(part) > 8)
    return text


class Clock:
    """A clock that tests set by hand, in seconds."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def jwks(*names: str, **members: object) -> str:
    """Returns a JWKS of ES256 keys, whose `kid` is their name."""
    return json.dumps({"keys": [{**(key(name, "ES256").jwk or {}), "kid": name, **members} for name in names]})


@cache
def token(name: str, kid: str | None = None, **claims: object) -> str:
    """Returns a genuine token signed by one of those keys, with that `kid` or another; always the same one."""
    header = {"alg": "ES256", "kid": name if kid is None else kid}
    return forge(header, {**CLAIMS, **claims}, key(name, "ES256"))


@cache
def token_without_kid(name: str) -> str:
    """Returns a genuine token without a `kid`; always the same one."""
    return forge({"alg": "ES256"}, signing=key(name, "ES256"))


def is_accepted(verifying: TokenVerifier, given: str) -> bool:
    try:
        return verifying.verify(given).user_id == "alice"
    except UnauthenticatedError:
        return False


class PublishedJwks:
    """A JWKS published in memory, which counts its fetches."""

    def __init__(self, text: str) -> None:
        self.text: str | None = text
        self.fetches = 0
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, url: str) -> bytes:
        assert url == "https://id.test/jwks"
        self.fetches += 1
        assert self.gate.wait(10)
        if self.text is None:
            raise FetchError("returned status 503")
        if self.text == "defect":
            raise RuntimeError("a defect")
        return self.text.encode()
