"""One verification key: bound to exactly one algorithm when it is loaded, and refused if it is not fit for it.

A token never chooses how it is verified: a key that is an RSA key under RS256 is nothing else, whatever the
token's header says. Source: design, section 9; RFC 7517, 7518, 8037, 8725.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

if TYPE_CHECKING:
    from collections.abc import Mapping

Material: TypeAlias = bytes | RSAPublicKey | EllipticCurvePublicKey | Ed25519PublicKey
"""A shared secret, or a public key."""

RSA_BITS = range(2048, 8193)
SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
"""The least length of a shared secret: that of the hash (RFC 7518, 3.2)."""
CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}
_RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_KEY_TYPES = {
    **dict.fromkeys(_RSA_ALGORITHMS, "RSA"),
    **dict.fromkeys(CURVES, "EC"),
    "EdDSA": "OKP",
    **dict.fromkeys(SECRET_BYTES, "oct"),
}
ALGORITHMS = tuple(_KEY_TYPES)
"""Every algorithm a key may be bound to. `none` is not among them."""

_ED25519_PRIME = 2**255 - 19
_ED25519_SMALL_ORDER = {
    0,
    1,
    _ED25519_PRIME - 1,
    2707385501144840649318225287225658788936804267575313519463743609750303402022,
    55188659117513257062467267217118295137698188065244968500265048394206261417927,
}
"""The y coordinates of the points under which anyone can sign."""

_jws = jwt.PyJWS(algorithms=ALGORITHMS)


class KeyFault(ValueError):  # noqa: N818  # why a key is refused; a ConfigurationError once it has a source
    """Why a key is not usable. The text never holds the key."""


@dataclass(frozen=True)
class VerificationKey:
    """What a token's signature is verified with.

    Attributes:
        algorithm: the only algorithm it verifies.
        kid: its name in a JWKS, if it has one.
        fingerprint: the hash of its material: two keys are one if name, algorithm and fingerprint are.
        material: the public key or the secret; never printed, never compared.
    """

    algorithm: str
    kid: str | None
    fingerprint: bytes = field(repr=False)
    material: Material = field(repr=False, compare=False)

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Returns whether this key made `signature` over `message`, under this key's algorithm."""
        try:
            return _jws.get_algorithm_by_name(self.algorithm).verify(message, self.material, signature)
        except ValueError:
            return False


def key_from_text(text: str, algorithm: str) -> VerificationKey:
    r"""Returns the key that is a PEM, or a shared secret if `algorithm` takes one.

    The environment of many platforms holds no line ends, so `\n` written as two characters is one in a PEM.

    Raises:
        KeyFault: it is not usable under `algorithm`.
    """
    if not text.strip():
        raise KeyFault("is empty")
    if algorithm in SECRET_BYTES:
        return _bind(_secret(text.encode(), algorithm), algorithm, None)
    pem = text.replace("\\n", "\n").strip().encode()
    if b"PRIVATE KEY-----" in pem:
        raise KeyFault("is a private key; expected the public key that belongs to it")
    try:
        material = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise KeyFault(f"is no public key in PEM form, which {algorithm} needs") from None
    return _bind(material, algorithm, None)


def key_from_jwk(jwk: Mapping[str, Any], algorithm: str) -> VerificationKey:
    """Returns the key that is a JWK.

    Args:
        jwk: the members of the JWK.
        algorithm: what it is bound to if it has no `alg`.

    Raises:
        KeyFault: it is not usable under its algorithm.
    """
    kid = jwk.get("kid")
    if not (kid is None or isinstance(kid, str)):
        raise KeyFault("has a `kid` that is no text")
    algorithm = jwk.get("alg", algorithm)
    if algorithm not in ALGORITHMS:
        raise KeyFault(f"has an `alg` that is not served; expected one of {', '.join(ALGORITHMS)}")
    if jwk.get("kty") != _KEY_TYPES[algorithm]:
        raise KeyFault(f"is bound to {algorithm}, so `kty` must be `{_KEY_TYPES[algorithm]}`")
    if "d" in jwk:
        raise KeyFault("is a private key; expected the public key that belongs to it")
    try:
        material = _jws.get_algorithm_by_name(algorithm).from_jwk(dict(jwk))
    except (jwt.PyJWTError, ValueError, TypeError, LookupError, AttributeError, UnsupportedAlgorithm):
        raise KeyFault(f"has members that make no key for {algorithm}") from None
    return _bind(_secret(material, algorithm) if isinstance(material, bytes) else material, algorithm, kid)


def _secret(secret: bytes, algorithm: str) -> bytes:
    try:
        _jws.get_algorithm_by_name(algorithm).prepare_key(secret)
    except jwt.PyJWTError:
        raise KeyFault(f"is a key of another kind, not a secret for {algorithm}") from None
    return secret


def _bind(material: object, algorithm: str, kid: str | None) -> VerificationKey:
    """Returns the key for `algorithm` alone, if `material` is of the type and the strength it needs."""
    match material, _KEY_TYPES[algorithm]:
        case bytes(), "oct":
            if len(material) < SECRET_BYTES[algorithm]:
                raise KeyFault(f"is too short: {algorithm} needs a secret of {SECRET_BYTES[algorithm]} bytes or more")
            return VerificationKey(algorithm, kid, sha256(material).digest(), material)
        case RSAPublicKey(key_size=bits), "RSA":
            if bits not in RSA_BITS:
                raise KeyFault(f"has {bits} bits; an RSA key must have {RSA_BITS.start} to {RSA_BITS.stop - 1}")
        case EllipticCurvePublicKey(curve=curve), "EC":
            if curve.name != CURVES[algorithm]:
                raise KeyFault(f"is on the curve {curve.name}; {algorithm} needs {CURVES[algorithm]}")
        case Ed25519PublicKey(), "OKP":
            encoded = int.from_bytes(material.public_bytes_raw(), "little")
            if encoded % 2**255 % _ED25519_PRIME in _ED25519_SMALL_ORDER:
                raise KeyFault("is a point of small order, under which anyone can sign")
        case _:
            raise KeyFault(f"is not of the type that {algorithm} needs")
    public = material.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return VerificationKey(algorithm, kid, sha256(public).digest(), material)
