"""The signature algorithms that keys are bound to.

Source: RFC 7518, 3.1; RFC 8037, 3.1; RFC 9864, 2.2.
"""

from __future__ import annotations

SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
"""The minimum length of a shared secret in bytes: the length of the hash (RFC 7518, 3.2)."""
CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}
KEY_TYPES = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(CURVES, "EC"),
    "EdDSA": "OKP",
    **dict.fromkeys(SECRET_BYTES, "oct"),
}
"""The required key type of each algorithm, as the `kty` of a JWK."""
ALGORITHMS = tuple(KEY_TYPES)
"""The supported algorithms, without `none`."""
OF_CURVE = {
    ("EC", "P-256"): "ES256",
    ("EC", "P-384"): "ES384",
    ("EC", "P-521"): "ES512",
    ("OKP", "Ed25519"): "EdDSA",
}
"""The only algorithm of a key, by the `kty` and `crv` of its JWK."""
_SYNONYMS = {"Ed25519": "EdDSA"}
"""Curve-specific names from RFC 9864, with the names that keys are bound to."""


def canonical(name: str) -> str:
    """Returns the name that keys are bound to: `EdDSA` for `Ed25519`, other names unchanged."""
    return _SYNONYMS.get(name, name)
