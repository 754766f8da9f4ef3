"""The algorithms of signatures that keys are bound to.

Source: RFC 7518, 3.1; RFC 8037, 3.1.
"""

from __future__ import annotations

SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
"""The minimum length of a shared secret: that of the hash (RFC 7518, 3.2)."""
CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}
KEY_TYPES = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(CURVES, "EC"),
    "EdDSA": "OKP",
    **dict.fromkeys(SECRET_BYTES, "oct"),
}
"""The type of key that each algorithm needs, as `kty` of a JWK names it."""
ALGORITHMS = tuple(KEY_TYPES)
"""The supported algorithms. `none` is not one of them."""
