"""Keys: a key that does not match its algorithm prevents the start, and no message contains a key."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from spanwise.auth.algorithms import ALGORITHMS
from spanwise.auth.config import AuthorizationConfig, configured_sources, key_material
from spanwise.auth.key_ring import KeyRing
from spanwise.auth.keys import InvalidKeyError, key_from_jwk, key_from_text
from spanwise.auth.tokens import TokenVerifier
from spanwise.errors import ConfigurationError
from spanwise.settings import Settings, load_settings
from support.clients.forged_tokens import NOW, SECRET, forge, key, key_ring, public_pem, segment

if TYPE_CHECKING:
    from pathlib import Path


URL_SAFE = str.maketrans("+/", "-_")
EMPTY = "setting `{}` from the environment: Expected `str` of length >= 1"


def pem_of(private: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed448.Ed448PrivateKey | dsa.DSAPrivateKey) -> str:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def without_frame(pem: str) -> str:
    """Returns the base64 of a PEM, without its first and last lines."""
    return "\n".join(pem.strip().splitlines()[1:-1])


def rsa_pem(bits: int) -> str:
    return pem_of(rsa.generate_private_key(65537, bits))


def rejected(environ: dict[str, str] | None = None, /, **config: object) -> str:
    """Returns the reason of a rejected start, and asserts that the message contains no line of a key."""
    with pytest.raises(ConfigurationError) as error:
        key_ring(environ, **config)
    text = str(error.value)
    keys = config.get("verification_keys") or []
    assert isinstance(keys, str | list)
    lines = "\n".join([*(environ or {}).values(), *map(str, keys)]).splitlines()
    assert not any(line in text for line in lines if len(line) > 20)
    assert len(text.splitlines()) == 1
    return text


@pytest.mark.parametrize(
    ("text", "algorithm", "why"),
    [
        (" ", "HS256", "is empty"),
        (" \n", "RS256", "is empty"),
        ("x" * 31, "HS256", "is too short: HS256 requires a secret of 32 bytes or more"),
        ("x" * 47, "HS384", "is too short: HS384 requires a secret of 48 bytes or more"),
        ("x" * 63, "HS512", "is too short: HS512 requires a secret of 64 bytes or more"),
        (public_pem(key("own")), "HS256", "is an asymmetric key, not a shared secret for HS256"),
        ('{"kty":"oct","k":"c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0"}', "HS256", "is an asymmetric key"),
        (without_frame(public_pem(key("own"))), "HS256", "is an asymmetric key in base64, not a shared secret"),
        (without_frame(public_pem(key("own"))).translate(URL_SAFE), "HS256", "is an asymmetric key in base64"),
        (without_frame(key("own").private_text).rstrip("="), "HS256", "is an asymmetric key in base64"),
        (b64encode(public_pem(key("own")).encode()).decode(), "HS512", "is an asymmetric key in base64"),
        ("x" * 40, "RS256", "is not a public key in PEM format, which RS256 requires"),
        ("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "RS256", "is not a public key in PEM format"),
        (key("own").private_text, "RS256", "is a private key; expected the public key that belongs to it"),
        (key("own", "ES256").private_text, "ES256", "is a private key"),
        (public_pem(key("own", "ES256")), "RS256", "has the wrong type for RS256"),
        (public_pem(key("own")), "ES256", "has the wrong type for ES256"),
        (public_pem(key("own", "EdDSA")), "PS256", "has the wrong type for PS256"),
        (public_pem(key("own", "ES256")), "ES384", "is on the curve secp256r1; ES384 requires secp384r1"),
        (
            pem_of(ec.generate_private_key(ec.SECP256K1())),
            "ES256",
            "is on the curve secp256k1; ES256 requires secp256r1",
        ),
        (pem_of(ed448.Ed448PrivateKey.generate()), "EdDSA", "has the wrong type for EdDSA"),
        (rsa_pem(1024), "RS256", "has 1024 bits; an RSA key must have 2048 to 8192"),
        (rsa_pem(2040), "PS256", "has 2040 bits"),
    ],
)
def test_an_unfit_key_rejects_the_start(text: str, algorithm: str, why: str) -> None:
    in_code = rejected(verification_keys=[text], algorithm=algorithm)
    assert in_code.startswith(f"the key given by `verification_keys[0]` {why}")
    in_environment = rejected({"JWT_VERIFICATION_KEY": text, "JWT_ALGORITHM": algorithm})
    assert in_environment.startswith(f"the key given by `jwt_verification_key` {why}")


@pytest.mark.parametrize(
    "encoded", [bytes(32), b"\1" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f", bytes(31) + b"\x80"]
)
def test_a_point_under_which_anyone_can_sign_is_rejected(encoded: bytes) -> None:
    with pytest.raises(InvalidKeyError, match="is a point of small order"):
        key_from_jwk({"kty": "OKP", "crv": "Ed25519", "x": segment(encoded)}, "EdDSA")


def test_without_any_key_the_start_is_rejected() -> None:
    assert rejected().startswith("authorization is on, but there is no verification key: set `JWT_VERIFICATION_KEY`")


@pytest.mark.parametrize(
    ("environ", "config", "message"),
    [
        ({"JWT_VERIFICATION_KEY": ""}, {}, EMPTY.format("jwt_verification_key")),
        ({"JWT_JWKS_FILE": ""}, {}, EMPTY.format("jwt_jwks_file")),
        ({"JWT_JWKS_FILE": "/absent"}, {}, "the JWKS file given by `jwt_jwks_file` cannot be read: No such file"),
        ({"JWT_JWKS_FILE": "/"}, {}, "the JWKS file given by `jwt_jwks_file` cannot be read: Is a directory"),
        ({}, {"jwks_file": "/absent"}, "the JWKS file given by `jwks_file` cannot be read: No such file"),
        ({"JWT_VERIFICATION_KEY_FILE": "/absent"}, {}, "cannot read the file given by `jwt_verification_key_file`"),
        ({"JWT_VERIFICATION_KEY_FILE": "/a", "JWT_VERIFICATION_KEY": "b"}, {}, "both `jwt_verification_key` and"),
        ({"JWT_ALGORITHM": "none"}, {}, "`jwt_algorithm` is not a supported algorithm; expected one of RS256, "),
        ({"JWT_ALGORITHM": ""}, {}, EMPTY.format("jwt_algorithm")),
        ({}, {"algorithm": "ES256K"}, "`algorithm` is not a supported algorithm"),
        ({"JWT_JWKS_URL": "file:///etc/passwd"}, {}, "`jwt_jwks_url` is not a valid URL; expected `https://host/path`"),
        ({}, {"jwks_url": "ftp://a/b"}, "`jwks_url` is not a valid URL"),
        ({}, {"jwks_url": "https://"}, "`jwks_url` is not a valid URL"),
        ({}, {"jwks_url": "https://a:b/"}, "`jwks_url` is not a valid URL"),
        ({}, {"jwks_url": "https://[x/"}, "`jwks_url` is not a valid URL"),
        ({}, {"jwks_url": "https://user:word@id.test/"}, "`jwks_url` contains a user name or a password"),
        ({}, {"verification_keys": SECRET}, "`verification_keys` is a string; expected a list of strings"),
        ({}, {"verification_keys": [b"secret"]}, "`verification_keys` contains an item that is not a string"),
        ({}, {"leeway": 61}, "`leeway` is 61; expected 0 to 60 seconds"),
        ({}, {"leeway": -1}, "`leeway` is -1; expected 0 to 60 seconds"),
        ({}, {"leeway": float("nan")}, "`leeway` is nan"),
        ({}, {"admin_scope": ""}, "`admin_scope` is empty"),
        ({}, {"user_id_claim": ""}, "`user_id_claim` is empty"),
        ({}, {"audience": ""}, "`audience` is empty; leave it out"),
        ({}, {"verification_keys": [SECRET] * 101, "algorithm": "HS256"}, "there are 101 verification keys"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_rejected_by_name(
    environ: dict[str, str], config: dict[str, object], message: str
) -> None:
    assert rejected(environ, **config).startswith(message)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not a JWKS: it is not JSON with unique members and finite numbers"),
        ("[]", "is not a JWKS: it is not a JSON object"),
        ("{}", "is not a JWKS: `keys` must be an array of objects"),
        ('{"keys":{}}', "is not a JWKS: `keys` must be an array of objects"),
        ('{"keys":[1]}', "is not usable: `keys[0]` is not an object"),
        ('{"keys":[],"keys":[]}', "is not a JWKS: it is not JSON"),
        ('{"keys":[{"kty":"RSA","use":"enc"}]}', "contains no signature key"),
        ('{"keys":[{"kty":"RSA","key_ops":["encrypt"]}]}', "contains no signature key"),
        (
            '{"keys":[{}]}',
            "is not usable: `keys[0]` has no `alg`, so the configured RS256 applies, and `kty` must be `RSA`",
        ),
        (
            '{"keys":[{"kty":"EC"}]}',
            "is not usable: `keys[0]` has no `alg` and an unsupported `crv`; expected one of P-",
        ),
        ('{"keys":[{"kty":"EC","alg":"RS256"}]}', "is not usable: `keys[0]` is bound to RS256, so `kty` must be `RSA`"),
        ('{"keys":[{"kty":"RSA","alg":"none"}]}', "is not usable: `keys[0]` has an unsupported `alg`"),
        ('{"keys":[{"kty":"RSA","alg":["RS256"]}]}', "is not usable: `keys[0]` has an unsupported `alg`"),
        ('{"keys":[{"kty":"RSA","kid":1}]}', "is not usable: `keys[0]` has a `kid` that is not a string"),
        ('{"keys":[{"kty":"RSA","d":"AQAB"}]}', "is not usable: `keys[0]` is a private key"),
        (
            '{"keys":[{"kty":"RSA","n":1,"e":"AQAB"}]}',
            "is not usable: `keys[0]` has members that do not form a key for RS256",
        ),
        (
            '{"keys":[{"kty":"RSA","n":"","e":""}]}',
            "is not usable: `keys[0]` has members that do not form a key for RS256",
        ),
        ('{"keys":[{"kty":"oct","alg":"HS256","k":"AAAA"}]}', "is not usable: `keys[0]` is too short: HS256 requires"),
        ('{"keys":[{"kty":"oct","alg":"HS256","k":""}]}', "is not usable: `keys[0]` "),
        ('{"keys":[' + ",".join(["{}"] * 101) + "]}", "contains 101 keys; expected at most 100"),
        (" " * (1024 * 1024 + 1), "is larger than 1048576 bytes"),
    ],
)
def test_an_unfit_jwks_file_rejects_the_start(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "jwks.json"
    path.write_text(text, "utf-8")
    assert rejected({"JWT_JWKS_FILE": str(path)}).startswith(f"the JWKS file given by `jwt_jwks_file` {why}")


def test_code_and_environment_add_up_and_code_decides(tmp_path: Path) -> None:
    jwks, secret = tmp_path / "jwks.json", tmp_path / "secret"
    jwks.write_text(json.dumps({"keys": [key("file").jwk]}), "utf-8")
    secret.write_text(public_pem(key("environment")) + "\n", "utf-8")
    config = AuthorizationConfig(verification_keys=[public_pem(key("code"))], jwks_file=str(jwks), algorithm="RS256")
    further = tmp_path / "further.json"
    further.write_text(json.dumps({"keys": [key("further file").jwk]}), "utf-8")
    environ = {"JWT_VERIFICATION_KEY_FILE": str(secret), "JWT_JWKS_FILE": str(further), "JWT_ALGORITHM": "HS256"}
    material = key_material(config, load_settings(environ=environ))
    keys = ["`verification_keys[0]`", "`jwt_verification_key_file`"]
    assert material.sources == [*keys, "`jwks_file`", "`jwt_jwks_file`"]
    verifying = TokenVerifier(config, KeyRing(material), lambda: NOW)
    for name in ("file", "further file", "environment", "code"):
        signing = key(name)
        header = {"alg": "RS256", "kid": signing.jwk["kid"]} if signing.jwk else {}
        assert verifying.verify(forge(header, signing=signing)).user_id == "alice"


def test_a_source_in_code_and_in_the_environment_is_read_once() -> None:
    config = AuthorizationConfig(jwks_file="/keys", jwks_url="https://id.test/a")
    settings = load_settings(environ={"JWT_JWKS_FILE": "/keys", "JWT_JWKS_URL": "https://id.test/b"})
    material = key_material(config, settings)
    assert material.jwks_files == (("`jwks_file`", "/keys"),)
    assert material.jwks_urls == (("`jwks_url`", "https://id.test/a"), ("`jwt_jwks_url`", "https://id.test/b"))


def test_a_key_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    for name, text, algorithm in (("pem", public_pem(key("own")), "RS256"), ("secret", SECRET, "HS256")):
        path = tmp_path / name
        path.write_text(text + "\n", "utf-8-sig")
        settings = load_settings(environ={"JWT_VERIFICATION_KEY_FILE": str(path), "JWT_ALGORITHM": algorithm})
        ring = KeyRing(key_material(AuthorizationConfig(), settings))
        assert key_from_text(text, algorithm) in ring.current()


def test_a_key_file_is_text(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(b"\xff\xfe\0")
    expected = "the file given by `jwt_verification_key_file` is not UTF-8 text"
    assert rejected({"JWT_VERIFICATION_KEY_FILE": str(path)}) == expected


def test_what_is_configured_can_be_named_without_being_read() -> None:
    config = AuthorizationConfig(jwks_file="/absent")
    settings = load_settings(environ={"JWT_VERIFICATION_KEY": "x"})
    assert configured_sources(config, settings) == ["`jwks_file`", "`jwt_verification_key`"]
    assert configured_sources(AuthorizationConfig(), Settings()) == []


def test_a_pem_may_hold_its_line_ends_as_two_characters() -> None:
    text = public_pem(key("own"))
    assert key_from_text(text.strip().replace("\n", "\\n"), "RS256") == key_from_text(text, "RS256")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_algorithm_of_a_jwk_wins(algorithm: str) -> None:
    jwk = key("own").jwk
    assert jwk
    if algorithm.startswith(("RS", "PS")):
        assert key_from_jwk({**jwk, "alg": algorithm}, "HS256").algorithm == algorithm
    del jwk["alg"]
    if algorithm.startswith(("RS", "PS")):
        assert key_from_jwk(jwk, algorithm).algorithm == algorithm
    else:
        with pytest.raises(ValueError, match="`kty` must be"):
            key_from_jwk(jwk, algorithm)


def test_no_key_is_ever_printed() -> None:
    config = AuthorizationConfig(verification_keys=[SECRET], algorithm="HS256")
    material = key_material(config)
    loaded = key_from_text(SECRET, "HS256")
    for printed in (repr(config), repr(material), repr(loaded), repr(key("own", "HS256")), repr(KeyRing(material))):
        assert SECRET not in printed


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256", "PS384", "PS512"])
def test_a_key_by_itself_verifies_its_own_algorithm_only(algorithm: str) -> None:
    text = public_pem(key("own"))
    for token, bound in ((forge(), "RS256"), (forge(algorithm=algorithm), algorithm)):
        message, _, signature = token.rpartition(".")
        parts = message.encode(), jwt.utils.base64url_decode(signature)
        assert [key_from_text(text, each).verifies(*parts) for each in ("RS256", algorithm)] == [
            bound == "RS256",
            bound == algorithm,
        ]
