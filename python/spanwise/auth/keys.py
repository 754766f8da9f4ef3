"""Verification keys, each bound to exactly one algorithm when it is loaded.

The token header never chooses how a token is verified: an RSA key loaded for RS256 verifies RS256 only.
Source: `docs/reference/tokens.md#keys`; RFC 7517, 7518, 8037, 8725, 9864.
"""

from __future__ import annotations

import base64
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_private_key,
    load_der_public_key,
    load_pem_public_key,
)

from spanwise.auth.algorithms import ALGORITHMS, CURVES, KEY_TYPES, OF_CURVE, SECRET_BYTES, canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

Material: TypeAlias = bytes | RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey
"""A shared secret, or a public key."""

RSA_BITS = range(2048, 8193)

_ED25519_PRIME = 2**255 - 19
_ED25519_SMALL_ORDER = {
    0,
    1,
    _ED25519_PRIME - 1,
    2707385501144840649318225287225658788936804267575313519463743609750303402022,
    55188659117513257062467267217118295137698188065244968500265048394206261417927,
}
"""The y coordinates of the points of small order. Anyone can forge signatures for such a key."""

_FROM_URL_SAFE = bytes.maketrans(b"-_", b"+/")
_jws = jwt.PyJWS(algorithms=ALGORITHMS)


class InvalidKeyError(ValueError):
    """A key is not usable. The message continues a sentence that starts with the source, and never contains the key."""


@dataclass(frozen=True)
class VerificationKey:
    """A key that verifies signatures.

    Attributes:
        algorithm: the only algorithm that it verifies.
        kid: its id in a JWKS, if any.
        fingerprint: the hash of its material. Keys are equal if their id, algorithm and fingerprint are equal.
        material: the public key or the shared secret; never printed or compared.
    """

    algorithm: str
    kid: str | None
    fingerprint: bytes = field(repr=False)
    material: Material = field(repr=False, compare=False)

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Returns whether `signature` is valid for `message` with this key and its algorithm."""
        try:
            return _jws.get_algorithm_by_name(self.algorithm).verify(message, self.material, signature)
        except ValueError:
            return False


def key_from_text(text: str, algorithm: str) -> VerificationKey:
    r"""Returns the key in `text`: a shared secret if `algorithm` is an HMAC algorithm, otherwise PEM.

    Environment variables of many platforms cannot contain line breaks. In a PEM, the two characters `\n` therefore mean
    a line break.

    Raises:
        InvalidKeyError: it is not usable for `algorithm`.
    """
    if not text.strip():
        raise InvalidKeyError("is empty")
    if algorithm in SECRET_BYTES:
        return _bind(_secret(text.encode(), algorithm), algorithm, None)
    pem = text.replace("\\n", "\n").strip().encode()
    if b"PRIVATE KEY-----" in pem:
        raise InvalidKeyError("is a private key; expected the public key that belongs to it")
    try:
        material = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidKeyError(f"is not a public key in PEM format, which {algorithm} requires") from None
    return _bind(material, algorithm, None)


def key_from_jwk(jwk: Mapping[str, Any], algorithm: str) -> VerificationKey:
    """Returns the key of a JWK. Null and empty members count as absent, because providers write them.

    Args:
        jwk: the members of the JWK.
        algorithm: its algorithm if neither `alg` nor type and curve determine one.

    Raises:
        InvalidKeyError: it is not usable for its algorithm.
    """
    members = {name: value for name, value in jwk.items() if value not in (None, "", [], {})}
    kid = members.get("kid")
    if not (kid is None or isinstance(kid, str)):
        raise InvalidKeyError("has a `kid` that is not a string")
    algorithm = _algorithm_of(members, algorithm)
    if "d" in members:
        raise InvalidKeyError("is a private key; expected the public key that belongs to it")
    try:
        material = _jws.get_algorithm_by_name(algorithm).from_jwk(members)
    except (jwt.PyJWTError, ValueError, TypeError, LookupError, AttributeError, UnsupportedAlgorithm):
        raise InvalidKeyError(f"has members that do not form a key for {algorithm}") from None
    return _bind(_secret(material, algorithm) if isinstance(material, bytes) else material, algorithm, kid)


def _algorithm_of(members: Mapping[str, Any], configured: str) -> str:
    """Returns the algorithm that a JWK is bound to: its `alg`, the only one of its curve, or the configured one."""
    kty, curve = members.get("kty"), members.get("crv")
    named = members.get("alg")
    if named is not None:
        algorithm = canonical(named) if isinstance(named, str) else ""
        if algorithm not in ALGORITHMS:
            raise InvalidKeyError(f"has an unsupported `alg`; expected one of {', '.join(ALGORITHMS)}")
        if kty != KEY_TYPES[algorithm]:
            raise InvalidKeyError(f"is bound to {algorithm}, so `kty` must be `{KEY_TYPES[algorithm]}`")
        return algorithm
    if kty in ("EC", "OKP"):
        derived = OF_CURVE.get((kty, curve)) if isinstance(curve, str) else None
        if derived is None:
            curves = ", ".join(name for _, name in OF_CURVE)
            raise InvalidKeyError(f"has no `alg` and an unsupported `crv`; expected one of {curves}")
        return derived
    if kty != KEY_TYPES[configured]:
        expected = KEY_TYPES[configured]
        raise InvalidKeyError(f"has no `alg`, so the configured {configured} applies, and `kty` must be `{expected}`")
    return configured


def _secret(secret: bytes, algorithm: str) -> bytes:
    try:
        _jws.get_algorithm_by_name(algorithm).prepare_key(secret)
    except jwt.PyJWTError:
        raise InvalidKeyError(f"is an asymmetric key, not a shared secret for {algorithm}") from None
    if _is_encoded_key(secret):
        raise InvalidKeyError(f"is an asymmetric key in base64, not a shared secret for {algorithm}")
    return secret


def _is_encoded_key(secret: bytes) -> bool:
    """Returns whether a secret is a key in base64: a PEM with or without its frame, or wrapped in base64 again.

    Anyone with the public key could sign with it (RFC 8725, 2.1).
    """
    text = b"".join(secret.replace(b"\\n", b"").split()).rstrip(b"=").translate(_FROM_URL_SAFE)
    try:
        decoded = base64.b64decode(text + b"=" * (-len(text) % 4), validate=True)
    except ValueError:
        return False
    if decoded.startswith(b"-----BEGIN "):
        return True
    for load in (load_der_public_key, partial(load_der_private_key, password=None)):
        with suppress(ValueError, TypeError, UnsupportedAlgorithm):
            load(decoded)
            return True
    return False


def _bind(material: object, algorithm: str, kid: str | None) -> VerificationKey:
    """Returns a key bound to `algorithm`. Checks that `material` has the required type and strength."""
    match material, KEY_TYPES[algorithm]:
        case bytes(), "oct":
            if len(material) < SECRET_BYTES[algorithm]:
                raise InvalidKeyError(
                    f"is too short: {algorithm} requires a secret of {SECRET_BYTES[algorithm]} bytes or more"
                )
            return VerificationKey(algorithm, kid, sha256(material).digest(), material)
        case RSAPublicKey(key_size=bits), "RSA":
            if bits not in RSA_BITS:
                raise InvalidKeyError(f"has {bits} bits; an RSA key must have {RSA_BITS.start} to {RSA_BITS.stop - 1}")
        case EllipticCurvePublicKey(curve=curve), "EC":
            if curve.name != CURVES[algorithm]:
                raise InvalidKeyError(f"is on the curve {curve.name}; {algorithm} requires {CURVES[algorithm]}")
        case Ed25519PublicKey(), "OKP":
            encoded = int.from_bytes(material.public_bytes_raw(), "little")
            if encoded % 2**255 % _ED25519_PRIME in _ED25519_SMALL_ORDER:
                raise InvalidKeyError("is a point of small order, for which anyone can forge signatures")
        case _:
            raise InvalidKeyError(f"has the wrong type for {algorithm}")
    public = material.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return VerificationKey(algorithm, kid, sha256(public).digest(), material)
