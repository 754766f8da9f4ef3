"""Keys as identity providers publish them: without `alg`, with empty members, under the names of RFC 9864."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, x25519

from spanwise.auth.config import AuthorizationConfig, key_material
from spanwise.auth.key_ring import KeyRing
from spanwise.auth.keys import InvalidKeyError, key_from_jwk
from spanwise.auth.minting import SigningKey
from spanwise.auth.tokens import TokenVerifier
from spanwise.errors import ConfigurationError
from spanwise.settings import load_settings
from support.clients.forged_tokens import SECRET, Clock, forge, is_accepted, key, public_pem, rejection, segment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ALGORITHM = "Invalid token: The specified alg value is not allowed"
NEEDS_KID = "Invalid token: Key ID header parameter is missing, and several keys fit"
URL = "https://id.test/jwks"
CURVES = {"ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


def signer(name: str, algorithm: str) -> SigningKey:
    """Returns the signing key with this name, for any asymmetric algorithm."""
    if algorithm in CURVES:
        return SigningKey(algorithm, ec.generate_private_key(CURVES[algorithm]))
    return key(name, algorithm)


def jwk_of(signing: SigningKey, **members: object) -> dict[str, Any]:
    """Returns the JWK of a key with some members replaced. A member of `...` is omitted."""
    merged = {**(signing.jwk or {}), **members}
    return {name: value for name, value in merged.items() if value is not ...}


def published(jwks: Sequence[object], *, prefix: bytes = b"", **config: object) -> TokenVerifier:
    """Returns a verifier with the keys of a JWKS that a provider publishes."""
    given = AuthorizationConfig(jwks_url=URL, **config)  # type: ignore[arg-type]  # tests pass any option
    ring = KeyRing(key_material(given), Clock(), lambda _: prefix + json.dumps({"keys": jwks}).encode())
    ring.close()
    return TokenVerifier(given, ring, Clock())


def in_file(path: Path, jwks: Sequence[object], *, prefix: bytes = b"") -> TokenVerifier:
    """Returns a verifier with the keys of a JWKS file."""
    path.write_bytes(prefix + json.dumps({"keys": jwks}).encode())
    given = AuthorizationConfig(jwks_file=str(path))
    return TokenVerifier(given, KeyRing(key_material(given), Clock()), Clock())


def signed(signing: SigningKey, algorithm: str | None = None, **header: object) -> str:
    """Returns a token that a key signed; `algorithm` is its name in the header."""
    return forge({"alg": algorithm or signing.algorithm, **header}, signing=signing)


@pytest.mark.parametrize("algorithm", ["ES256", "ES384", "ES512", "EdDSA"])
def test_a_curve_determines_the_algorithm(algorithm: str, tmp_path: Path) -> None:
    signing = signer("curve", algorithm)
    for jwk in (jwk_of(signing, kid="k", alg=...), jwk_of(signing, kid="k", alg=None)):
        for jwks in ([jwk], [jwk_of(key("own"), alg=...), jwk]):
            for verifying in (published(jwks), in_file(tmp_path / "jwks.json", jwks)):
                assert is_accepted(verifying, signed(signing, kid="k"))


@pytest.mark.parametrize("configured", ["RS256", "PS256", "RS512"])
def test_an_rsa_key_without_algorithm_verifies_the_configured_one_only(configured: str) -> None:
    verifying = published([jwk_of(key("own"), kid="k", alg=...)], algorithm=configured)
    for algorithm in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"):
        token = forge({"alg": algorithm, "kid": "k"}, algorithm=algorithm)
        assert is_accepted(verifying, token) == (algorithm == configured)


def test_a_secret_without_algorithm_is_no_key_of_the_default_one(tmp_path: Path) -> None:
    secret = {"kty": "oct", "k": segment(SECRET.encode())}
    verifying = in_file(tmp_path / "jwks.json", [secret, key("own").jwk])
    assert rejection(signed(key("any", "HS256")), verifying) == ALGORITHM


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA"])
def test_an_rsa_key_is_not_for_another_configured_algorithm(algorithm: str) -> None:
    with pytest.raises(
        ConfigurationError, match=f"has no `alg`, so the configured {algorithm} applies, and `kty` must"
    ):
        published([jwk_of(key("own"), alg=...)], algorithm=algorithm)


@pytest.mark.parametrize(("curve", "private"), [("X25519", x25519.X25519PrivateKey), ("Ed448", ed448.Ed448PrivateKey)])
def test_a_curve_without_an_algorithm_of_ours_is_unusable(
    curve: str, private: type[x25519.X25519PrivateKey | ed448.Ed448PrivateKey]
) -> None:
    jwk = {"kty": "OKP", "crv": curve, "x": segment(private.generate().public_key().public_bytes_raw())}
    with pytest.raises(InvalidKeyError, match="has no `alg` and an unsupported `crv`; expected one of P-256, "):
        key_from_jwk(jwk, "RS256")
    with pytest.raises(InvalidKeyError):
        key_from_jwk({**jwk, "alg": "EdDSA"}, "RS256")


@pytest.mark.parametrize("in_key", ["EdDSA", "Ed25519", ...])
@pytest.mark.parametrize("in_token", ["EdDSA", "Ed25519"])
def test_both_names_of_ed25519_mean_the_same(in_key: object, in_token: str) -> None:
    signing = key("edwards", "EdDSA")
    verifying = published([key("own").jwk, jwk_of(signing, kid="k", alg=in_key)])
    assert is_accepted(verifying, signed(signing, in_token, kid="k"))
    assert is_accepted(verifying, signed(signing, in_token))
    assert not is_accepted(verifying, signed(key("other", "EdDSA"), in_token, kid="k"))


def test_ed25519_can_be_configured() -> None:
    signing = key("edwards", "EdDSA")
    given = AuthorizationConfig(verification_keys=[public_pem(signing)], algorithm="Ed25519")
    verifying = TokenVerifier(given, KeyRing(key_material(given)), Clock())
    assert is_accepted(verifying, signed(signing))
    settings = load_settings(environ={"JWT_ALGORITHM": "Ed25519"})
    assert key_material(AuthorizationConfig(), settings).algorithm == "EdDSA"


MEMBERS = ("alg", "use", "d", "p", "q", "dp", "dq", "qi", "oth", "key_ops", "x5c", "x5t", "x5u", "crv", "k", "ext")


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize("value", [None, "", [], {}])
def test_a_null_or_empty_member_counts_as_absent(member: str, value: object, tmp_path: Path) -> None:
    jwks = [jwk_of(key("own"), kid="k", **{member: value})]
    for verifying in (published(jwks), in_file(tmp_path / "jwks.json", jwks)):
        assert is_accepted(verifying, signed(key("own"), kid="k"))


@pytest.mark.parametrize("value", [None, "", ...])
def test_a_null_or_empty_kid_is_no_name(value: object) -> None:
    verifying = published([jwk_of(key("own"), kid=value)])
    assert is_accepted(verifying, signed(key("own")))
    assert is_accepted(verifying, signed(key("own"), kid="of another set"))


@pytest.mark.parametrize("member", ["n", "e", "kty"])
def test_a_required_member_must_have_a_value(member: str) -> None:
    for value in (None, "", ...):
        with pytest.raises(ConfigurationError, match=r"is not usable: `keys\[0\]` "):
            published([jwk_of(key("own"), **{member: value})])


@pytest.mark.parametrize("members", [{"use": "enc"}, {"key_ops": ["encrypt"]}, {"use": None, "key_ops": ["wrapKey"]}])
def test_a_key_for_another_use_stays_out(members: Mapping[str, object], caplog: pytest.LogCaptureFixture) -> None:
    verifying = published([jwk_of(key("other"), kid="k", **members), key("own").jwk])
    assert not is_accepted(verifying, signed(key("other"), kid="k"))
    assert not caplog.records


UNUSABLE: dict[str, object] = {
    "a null": None,
    "a number": 7,
    "a text": "key",
    "nothing": {},
    "an unknown type": {"kty": "AKP", "alg": "ML-DSA-44"},
    "a private key": {**(key("own").jwk or {}), "d": "AQAB"},
    "a wrong algorithm": jwk_of(key("other"), alg="ES256"),
    "an unsupported curve": {"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"},
    "a curve that is a number": {"kty": "EC", "crv": 256},
    "a broken point": {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
    "a numeric name": jwk_of(key("other"), kid=1),
    "an algorithm that is a list": jwk_of(key("other"), alg=["RS256"]),
    "a type that is a list": {"kty": ["RSA"], "alg": "RS256"},
    "a short secret": {"kty": "oct", "alg": "HS256", "k": "AA"},
}


@pytest.mark.parametrize("case", UNUSABLE)
@pytest.mark.parametrize("order", [1, -1])
def test_one_unusable_key_leaves_the_others(
    case: str, order: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    jwks = [UNUSABLE[case], jwk_of(key("own"), kid="k")][::order]
    for verifying in (published(jwks), in_file(tmp_path / "jwks.json", jwks)):
        assert is_accepted(verifying, signed(key("own"), kid="k"))
    origins = "the JWKS at the URL given by `jwks_url`", "the JWKS file given by `jwks_file`"
    index = jwks.index(UNUSABLE[case])
    for record, origin in zip(caplog.records, origins, strict=True):
        assert record.levelname == "WARNING"
        assert record.getMessage().startswith(f"skipped a key of {origin}: `keys[{index}]` ")


def test_a_jwks_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    mark = "\ufeff".encode()
    jwks = [jwk_of(key("own"), kid="k")]
    for verifying in (published(jwks, prefix=mark), in_file(tmp_path / "jwks.json", jwks, prefix=mark)):
        assert is_accepted(verifying, signed(key("own"), kid="k"))


def test_a_token_without_kid_is_for_the_only_key_of_its_algorithm() -> None:
    curve = key("curve", "ES256")
    verifying = published([jwk_of(key("own"), kid="a"), jwk_of(curve, kid="b")])
    assert is_accepted(verifying, signed(key("own")))
    assert is_accepted(verifying, signed(curve))
    assert rejection(signed(key("other")), verifying) == "Invalid token: Signature verification failed"
    assert rejection(signed(key("any", "EdDSA")), verifying) == ALGORITHM


def test_a_token_without_kid_is_told_when_several_keys_fit() -> None:
    jwks = [jwk_of(key(name), kid=name) for name in ("own", "other")]
    verifying = published([*jwks, jwk_of(key("curve", "ES256"), kid="c")])
    for name in ("own", "other", "of a stranger"):
        assert rejection(signed(key(name)), verifying) == NEEDS_KID
    assert is_accepted(verifying, signed(key("other"), kid="other"))
    assert is_accepted(verifying, signed(key("curve", "ES256")))
    beside = published(jwks, verification_keys=[public_pem(key("in code"))])
    assert is_accepted(beside, signed(key("in code"))), "keys outside a JWKS are always tried"
    assert rejection(signed(key("own")), beside) == NEEDS_KID


def test_one_key_under_two_names_is_one_key() -> None:
    verifying = published([jwk_of(key("own"), kid=name) for name in ("old", "new")])
    assert is_accepted(verifying, signed(key("own")))


def two_urls(texts: dict[str, list[object]]) -> KeyRing:
    """Returns a key ring with a URL in code and another one in the environment."""
    config = AuthorizationConfig(jwks_url="https://id.test/code")
    settings = load_settings(environ={"JWT_JWKS_URL": "https://id.test/environment"})
    clock = Clock()

    def fetch(url: str) -> bytes:
        clock.now += 1
        return json.dumps({"keys": texts[url.rpartition("/")[2]]}).encode()

    return KeyRing(key_material(config, settings), clock, fetch)


@pytest.mark.parametrize("place", ["code", "environment"])
def test_the_urls_of_code_and_environment_add_up(place: str) -> None:
    texts: dict[str, list[object]] = {name: [jwk_of(key(name), kid=name)] for name in ("code", "environment")}
    ring = two_urls(texts)
    verifying = TokenVerifier(AuthorizationConfig(), ring, Clock())
    for name in texts:
        assert is_accepted(verifying, signed(key(name), kid=name))
    assert ring.jwks_age_seconds == 1
    texts[place] = [jwk_of(key("new"), kid="new")]
    assert asyncio.run(verifying.verify_or_fetch(signed(key("new"), kid="new"))).user_id == "alice"
    ring.close()


def test_a_second_url_that_fails_ends_the_first() -> None:
    texts: dict[str, list[object]] = {"code": [key("own").jwk], "environment": []}
    before = set(threading.enumerate())
    with pytest.raises(ConfigurationError, match=r"^the JWKS at the URL given by `jwt_jwks_url` contains no usable"):
        two_urls(texts)
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()
