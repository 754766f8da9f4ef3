"""The choice of a token's verification key, from a JWKS file that may change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from spanwise.auth.algorithms import ALGORITHMS
from spanwise.auth.config import AuthorizationConfig, key_material
from spanwise.auth.jwks_file import JwksFile
from spanwise.auth.key_ring import KeyRing
from spanwise.auth.key_sets import KeySet, read_jwks
from spanwise.auth.keys import key_from_jwk
from spanwise.auth.minting import SigningKey
from spanwise.auth.tokens import TokenVerifier
from support.clients.forged_tokens import (
    SECRET,
    Clock,
    forge,
    is_accepted,
    jwks,
    key,
    public_pem,
    segment,
    token,
    token_without_kid,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jwks.json"


def file_verifier(path: Path, clock: Clock) -> TokenVerifier:
    given = AuthorizationConfig(jwks_file=str(path))
    return TokenVerifier(given, KeyRing(key_material(given), clock), clock)


def test_only_the_key_that_is_named_passes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"key {number}" for number in range(50)]
    path.write_text(jwks(*names), "utf-8")
    clock = Clock()
    verifying = file_verifier(path, clock)
    reads = count_reads(monkeypatch)
    assert all(is_accepted(verifying, token(name)) for name in names)
    assert not is_accepted(verifying, token("key 1", kid="key 2"))
    assert not is_accepted(verifying, token_without_kid("key 1"))
    for number in range(10_000):
        clock.now += 0.001
        assert not is_accepted(verifying, f"{token('key 1', kid='x')}"[:-4] + f"{number:04}")
    assert len(reads) <= 10


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    reads: list[None] = []
    read = JwksFile._read  # noqa: SLF001  # the test counts opens of the file

    def counted(self: JwksFile) -> bytes:
        reads.append(None)
        return read(self)

    monkeypatch.setattr(JwksFile, "_read", counted)
    return reads


def test_a_file_is_read_again_when_it_changes(path: Path) -> None:
    path.write_text(jwks("old"), "utf-8")
    clock = Clock()
    verifying = file_verifier(path, clock)
    assert is_accepted(verifying, token("old"))
    path.write_text(jwks("new"), "utf-8")
    assert not is_accepted(verifying, token("new"))
    assert is_accepted(verifying, token("old"))
    clock.now += 1
    assert is_accepted(verifying, token("new"))
    assert not is_accepted(verifying, token("old")), "a remembered token outlived its key"


@pytest.mark.parametrize("damage", ["", "{", '{"keys":[{"kty":"RSA"}]}', None])
def test_a_file_that_becomes_invalid_changes_nothing(
    damage: str | None, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text(jwks("old"), "utf-8")
    clock = Clock()
    verifying = file_verifier(path, clock)
    path.unlink()
    if damage is not None:
        path.write_text(damage, "utf-8")
    for _ in range(3):
        clock.now += 1
        assert is_accepted(verifying, token("old"))
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "kept the last valid keys: the JWKS file given by `jwks_file`" in caplog.text
    path.write_text(jwks("new"), "utf-8")
    clock.now += 1
    assert is_accepted(verifying, token("new"))


def test_a_good_file_without_keys_takes_them_away(path: Path) -> None:
    path.write_text(jwks("old"), "utf-8")
    clock = Clock()
    verifying = file_verifier(path, clock)
    path.write_text('{"keys":[]}', "utf-8")
    clock.now += 1
    assert not is_accepted(verifying, token("old"))


def test_an_empty_file_verifies_no_token_until_it_has_keys(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.write_text('{"keys": []}', "utf-8")
    clock = Clock()
    verifying = file_verifier(path, clock)
    assert "the JWKS file given by `jwks_file` contains no keys, so every token is rejected" in caplog.text
    assert not is_accepted(verifying, token("new"))
    path.write_text(jwks("new"), "utf-8")
    clock.now += 1
    assert is_accepted(verifying, token("new"))


def test_a_key_that_moves_to_another_name_is_another_key(path: Path) -> None:
    path.write_text(jwks("old"), "utf-8")
    clock = Clock()
    verifying = file_verifier(path, clock)
    assert is_accepted(verifying, token("old"))
    path.write_text(jwks("old", kid="other"), "utf-8")
    clock.now += 1
    assert not is_accepted(verifying, token("old"))
    assert is_accepted(verifying, token("old", kid="other"))


def test_a_nameless_key_of_a_jwks_serves_tokens_that_name_no_other(path: Path) -> None:
    without = key("nameless", "ES256").jwk or {}
    del without["kid"]
    path.write_text(json.dumps({"keys": [*json.loads(jwks("named"))["keys"], without]}), "utf-8")
    verifying = file_verifier(path, Clock())
    assert is_accepted(verifying, token_without_kid("nameless"))
    assert is_accepted(verifying, token("nameless", kid="unknown"))
    assert not is_accepted(verifying, token("nameless", kid="named"))
    assert not is_accepted(verifying, token_without_kid("named"))


def test_one_name_for_two_keys_leaves_each_its_algorithm(path: Path) -> None:
    secret = {"kty": "oct", "alg": "HS256", "kid": "k", "k": segment(SECRET.encode())}
    public = {**(key("own").jwk or {}), "kid": "k"}
    path.write_text(json.dumps({"keys": [secret, public]}), "utf-8")
    verifying = file_verifier(path, Clock())
    assert is_accepted(verifying, forge({"alg": "HS256", "kid": "k"}, signing=key("own", "HS256")))
    assert is_accepted(verifying, forge({"alg": "RS256", "kid": "k"}))
    forged = SigningKey("HS256", public_pem(key("own")).strip().replace("-", "x").encode())
    assert not is_accepted(verifying, forge({"alg": "HS256", "kid": "k"}, signing=forged))


def test_what_strangers_publish_is_taken_as_far_as_it_is_usable(caplog: pytest.LogCaptureFixture) -> None:
    good = key("own").jwk
    text = json.dumps({"keys": [{"kty": "AKP", "alg": "ML-DSA-44"}, {"kty": "oct", "alg": "HS256", "k": "AA"}, good]})
    assert [found.algorithm for found in read_jwks(text.encode(), "RS256", is_trusted=False)] == ["RS256"]
    assert [record.getMessage() for record in caplog.records] == [
        f"skipped a key of the JWKS: `keys[0]` has an unsupported `alg`; expected one of {', '.join(ALGORITHMS)}",
        "skipped a key of the JWKS: `keys[1]` is a shared secret, which must not be published",
    ]


def test_a_set_knows_its_keys() -> None:
    first, second = (key_from_jwk(key(name).jwk or {}, "RS256") for name in ("own", "other"))
    found = KeySet([first])
    assert first in found
    assert second not in found
    assert len(found) == 1
