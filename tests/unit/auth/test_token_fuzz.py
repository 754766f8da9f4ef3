"""Fuzzed tokens. Each is verified or rejected; a verified one has a subject, an expiry and a genuine signature."""

from __future__ import annotations

import json
import os
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import UnauthenticatedError
from support.clients.forged_tokens import CLAIMS, NOW, SECRET, forge, key, public_pem, segment, verifier

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "alg": st.sampled_from(["HS256", "HS384", "RS256", "ES256", "none", "EdDSA"]) | JSON,
        "typ": st.sampled_from(["JWT", "at+jwt", "logout+jwt"]) | JSON,
        "kid": st.sampled_from(["ours", ""]) | JSON,
        "crit": JSON,
        "b64": JSON,
        "jwk": JSON,
        "jku": JSON,
    },
)
PAYLOADS = st.fixed_dictionaries(
    {},
    optional={
        "sub": st.sampled_from(["alice", "", "sa:x", " ", "a\0"]) | JSON,
        "exp": st.integers(NOW - 20, NOW + 20) | JSON,
        "nbf": st.integers(NOW - 20, NOW + 20) | JSON,
        "iat": st.integers(NOW - 20, NOW + 20) | JSON,
        "scopes": st.lists(st.text(max_size=5), max_size=3) | JSON,
        "scope": JSON,
        "session_id": JSON,
        "aud": JSON,
        "iss": JSON,
        "x": JSON,
    },
)
OURS = key("own", "HS256")
VERIFYING = verifier(verification_keys=[SECRET], algorithm="HS256")


def verified_claims(token: str) -> dict[str, Any] | None:
    try:
        verified = VERIFYING.verify(token)
    except UnauthenticatedError:
        return None
    assert verified.user_id.strip()
    assert verified.expires_at > NOW - 10
    assert all(isinstance(scope, str) for scope in verified.scopes)
    return dict(verified.claims)


@settings(max_examples=300, deadline=None)
@given(HEADERS, PAYLOADS)
def test_a_genuine_signature_is_not_enough(header: dict[str, Any], claims: dict[str, Any]) -> None:
    found = verified_claims(forge(header, claims, OURS))
    if found is not None:
        assert header["alg"] == "HS256"
        assert header.keys().isdisjoint({"crit", "b64"})
        assert found["sub"] == claims["sub"]
        assert isinstance(claims["exp"], int | float)
        assert not isinstance(claims["exp"], bool)


@settings(max_examples=150, deadline=None)
@given(HEADERS, PAYLOADS, st.binary(max_size=64))
def test_without_our_signature_nothing_is_verified(header: dict[str, Any], claims: dict[str, Any], end: bytes) -> None:
    assert verified_claims(f"{segment(header)}.{segment(claims)}.{segment(end)}") is None


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_instead_of_json_are_rejected(header: bytes, claims: bytes) -> None:
    assert verified_claims(forge(header, CLAIMS, OURS, "HS256")) is None
    assert verified_claims(forge({"alg": "HS256"}, claims, OURS)) is None


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300) | st.from_regex(r"[A-Za-z0-9_.\-=]{0,300}", fullmatch=True))
def test_any_text_is_rejected(token: str) -> None:
    assert verified_claims(token) is None


LETTERS = "AZaz09-_.=\0é "
GENUINE = [forge(signing=OURS), forge({"alg": "HS256", "kid": "ours", "typ": "at+jwt"}, CLAIMS, OURS)]
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    NOW + 600,
    str(NOW + 600),
    "",
    "a\0",
    " ",
    [],
    {},
    ["x"],
    {"a": {}},
    "HS256",
]
MEMBERS = ("alg", "typ", "kid", "crit", "b64", "jwk", "jku", "x5c", "zip", "cty")
NAMES = ("sub", "exp", "nbf", "iat", "scopes", "scope", "session_id", "aud", "iss", "x")


def change_text(rng: random.Random) -> str:
    """Returns a genuine token with characters changed, deleted or inserted, or with its tail replaced."""
    token = list(rng.choice(GENUINE))
    for _ in range(rng.randrange(1, 4)):
        index = rng.randrange(len(token))
        match rng.randrange(4):
            case 0:
                token[index] = rng.choice(LETTERS)
            case 1:
                del token[index]
            case 2:
                token.insert(index, rng.choice(LETTERS))
            case _:
                token[index:] = rng.choice(GENUINE)[index:]
    return "".join(token)


def change_meaning(rng: random.Random) -> str:
    """Returns a token with another payload, and with a genuine signature, another key's signature, or no signature."""
    header: dict[str, Any] = {"alg": "HS256", "typ": "JWT"}
    claims = dict(CLAIMS)
    for _ in range(rng.randrange(1, 4)):
        members, names = rng.choice([(header, MEMBERS), (claims, NAMES)])
        match rng.randrange(3):
            case 0:
                members[rng.choice(names)] = rng.choice(VALUES)
            case 1:
                members.pop(rng.choice(names), None)
            case _:
                members[rng.choice(names)] = {rng.choice(names): rng.choice(VALUES)}
    message = f"{segment(header)}.{segment(claims)}"
    kind = rng.randrange(4)
    if kind == 0:
        return f"{message}.{rng.choice(GENUINE).rpartition('.')[2]}"
    if kind == 1:
        return f"{message}."
    return f"{message}.{segment(rng.randbytes(32 if kind == 2 else rng.randrange(64)))}"


@pytest.mark.parametrize(
    ("count", "seed"),
    [
        (20_000, 31),
        pytest.param(
            int(os.environ.get("SLOW_TOKENS", "1000000")),
            int(os.environ.get("SLOW_SEED", "32")),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_no_mutation_of_a_genuine_token_is_another_genuine_token(count: int, seed: int) -> None:
    """A mutant is rejected unless it equals a genuine token."""
    rng = random.Random(seed)
    for number in range(count):
        mutant = (change_text if number % 2 else change_meaning)(rng)
        assert mutant in GENUINE or verified_claims(mutant) is None, f"{number} of seed {seed}: {mutant}"


def test_an_rsa_verifier_survives_the_same() -> None:
    verifying = verifier(verification_keys=[public_pem(key("own"))])
    rng = random.Random(32)
    token = forge()
    for _ in range(2000):
        index = rng.randrange(len(token))
        mutant = token[:index] + rng.choice("AZaz09-_") + token[index + 1 :]
        try:
            verifying.verify(mutant)
            assert mutant == token
        except UnauthenticatedError:
            assert mutant != token


def test_a_payload_with_any_one_member_twice_is_rejected() -> None:
    for name, value in CLAIMS.items():
        twice = json.dumps(CLAIMS)[:-1] + f",{json.dumps(name)}:{json.dumps(value)}}}"
        assert verified_claims(forge({"alg": "HS256"}, twice.encode(), OURS)) is None
