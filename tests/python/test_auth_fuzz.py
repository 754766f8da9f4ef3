"""Any token is verified or refused; whatever is verified has a subject and an end, and was signed by us."""

from __future__ import annotations

import json
import random
from typing import Any

from forging import CLAIMS, NOW, SECRET, forge, key, public_pem, segment, verifier
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import UnauthenticatedError

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
OURS = key("ours", "HS256")
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
def test_any_bytes_in_the_place_of_json_are_refused(header: bytes, claims: bytes) -> None:
    assert verified_claims(forge(header, CLAIMS, OURS, "HS256")) is None
    assert verified_claims(forge({"alg": "HS256"}, claims, OURS)) is None


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300) | st.from_regex(r"[A-Za-z0-9_.\-=]{0,300}", fullmatch=True))
def test_any_text_is_refused(token: str) -> None:
    assert verified_claims(token) is None


def test_no_mutation_of_a_genuine_token_is_another_genuine_token() -> None:
    """Bytes changed, cut, doubled, swapped: 20,000 mutants of tokens, those whose text is unchanged left out."""
    rng = random.Random(31)
    genuine = [forge(signing=OURS), forge({"alg": "HS256", "kid": "ours", "typ": "at+jwt"}, CLAIMS, OURS)]
    letters = "AZaz09-_.=\0é "
    for _ in range(20_000):
        given_token = list(rng.choice(genuine))
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(given_token))
            match rng.randrange(4):
                case 0:
                    given_token[place] = rng.choice(letters)
                case 1:
                    del given_token[place]
                case 2:
                    given_token.insert(place, rng.choice(letters))
                case _:
                    other = rng.choice(genuine)
                    given_token[place:] = other[place:]
        mutant = "".join(given_token)
        assert mutant in genuine or verified_claims(mutant) is None


def test_an_rsa_verifier_survives_the_same() -> None:
    verifying = verifier(verification_keys=[public_pem(key("ours"))])
    rng = random.Random(32)
    token = forge()
    for _ in range(2000):
        place = rng.randrange(len(token))
        mutant = token[:place] + rng.choice("AZaz09-_") + token[place + 1 :]
        try:
            verifying.verify(mutant)
            assert mutant == token
        except UnauthenticatedError:
            assert mutant != token


def test_a_payload_with_any_one_member_twice_is_refused() -> None:
    for name, value in CLAIMS.items():
        twice = json.dumps(CLAIMS)[:-1] + f",{json.dumps(name)}:{json.dumps(value)}}}"
        assert verified_claims(forge({"alg": "HS256"}, twice.encode(), OURS)) is None
