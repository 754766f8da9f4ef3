"""Signing keys and tokens for development. The service itself never signs."""

from __future__ import annotations

import json
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from spanwise.auth.algorithms import CURVES, SECRET_BYTES
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PrivateMaterial: TypeAlias = bytes | RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey
"""A shared secret, or a private key."""

_NEW: dict[str, Callable[[], PrivateMaterial]] = {
    "RS256": lambda: generate_rsa_key(65537, 2048),
    "ES256": lambda: generate_private_key(SECP256R1()),
    "EdDSA": Ed25519PrivateKey.generate,
    "HS256": lambda: secrets.token_hex(SECRET_BYTES["HS256"]).encode(),
}
SIGNING_ALGORITHMS = tuple(_NEW)
"""The algorithms for which keys can be generated."""

_PUBLIC_MEMBERS = {"RSA": ("e", "kty", "n"), "EC": ("crv", "kty", "x", "y"), "OKP": ("crv", "kty", "x")}
"""The members of a public key by type, in the order of a JWK thumbprint (RFC 7638)."""


@dataclass(frozen=True)
class SigningKey:
    """A key that signs tokens.

    Attributes:
        algorithm: the algorithm of its signatures.
        material: the private key or the shared secret; never printed.
    """

    algorithm: str
    material: PrivateMaterial = field(repr=False)

    @property
    def private_text(self) -> str:
        """Returns the contents of a key file: the shared secret, or the private key as PKCS #8 in PEM format."""
        if isinstance(self.material, bytes):
            return self.material.decode() + "\n"
        return self.material.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    @property
    def public_text(self) -> str | None:
        """Returns the public key in PEM format; None for a shared secret."""
        if isinstance(self.material, bytes):
            return None
        return self.material.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    @property
    def jwk(self) -> dict[str, Any] | None:
        """Returns the public key as JWK, with its thumbprint (RFC 7638) as `kid`; None for a shared secret."""
        if isinstance(self.material, bytes):
            return None
        algorithm = jwt.get_algorithm_by_name(self.algorithm)
        jwk = algorithm.to_jwk(self.material.public_key(), as_dict=True)
        members = {name: jwk[name] for name in _PUBLIC_MEMBERS[jwk["kty"]]}
        digest = sha256(json.dumps(members, separators=(",", ":")).encode()).digest()
        kid = urlsafe_b64encode(digest).rstrip(b"=").decode()
        return {**members, "kid": kid, "alg": self.algorithm, "use": "sig"}

    def sign(self, claims: Mapping[str, Any]) -> str:
        """Returns a token with these claims."""
        headers = {"kid": self.jwk["kid"]} if self.jwk else None
        return jwt.encode(dict(claims), self.material, self.algorithm, headers)


def new_signing_key(algorithm: str) -> SigningKey:
    """Generates a key for `algorithm`, one of `SIGNING_ALGORITHMS`."""
    return SigningKey(algorithm, _NEW[algorithm]())


def read_signing_key(text: str) -> SigningKey:
    """Returns the key in a file: a private key in PEM format, or a shared secret. Its type determines the algorithm.

    Raises:
        ConfigurationError: it is neither.
    """
    text = text.removesuffix("\n").removesuffix("\r")
    if "-----BEGIN" not in text:
        if len(text.encode()) < SECRET_BYTES["HS256"]:
            raise ConfigurationError(f"the secret is too short; expected {SECRET_BYTES['HS256']} bytes or more")
        return SigningKey("HS256", text.encode())
    try:
        material = load_pem_private_key(text.encode(), None)
    except (ValueError, TypeError):
        raise ConfigurationError(
            "expected a private key in PEM format without a passphrase, or a shared secret"
        ) from None
    match material:
        case RSAPrivateKey():
            return SigningKey("RS256", material)
        case Ed25519PrivateKey():
            return SigningKey("EdDSA", material)
        case EllipticCurvePrivateKey(curve=curve):
            for algorithm, name in CURVES.items():
                if curve.name == name:
                    return SigningKey(algorithm, material)
    raise ConfigurationError("this type of private key is not supported")
