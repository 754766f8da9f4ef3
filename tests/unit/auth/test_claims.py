"""Claims of a genuine token: each table is one claim."""

from __future__ import annotations

import itertools

import pytest

from support.clients.forged_tokens import CLAIMS, NOW, forge, rejection, verifier


@pytest.mark.parametrize(
    ("claim", "difference", "expected"),
    [
        ("exp", -11, "Token has expired"),
        ("exp", -10, "Token has expired"),
        ("exp", -9, None),
        ("exp", -9.5, None),
        ("nbf", 9, None),
        ("nbf", 10, None),
        ("nbf", 11, "Invalid token: The token is not yet valid (nbf)"),
        ("iat", 9, None),
        ("iat", 10, None),
        ("iat", 11, "Invalid token: The token is not yet valid (iat)"),
    ],
)
def test_the_leeway_is_exact(claim: str, difference: float, expected: str | None) -> None:
    token = forge(claims={**CLAIMS, claim: NOW + difference})
    if expected:
        assert rejection(token) == expected
    else:
        assert verifier().verify(token).user_id == "alice"


@pytest.mark.parametrize(
    "value", [None, "1800000000", True, [], {}, 1e20, -1, float(10**300), 253_402_300_800, 1_800_000_000_000]
)
@pytest.mark.parametrize("claim", ["exp", "nbf", "iat"])
def test_a_time_is_a_sane_number(claim: str, value: object) -> None:
    expected = f'Invalid token: Claim "{claim}" must be a number of seconds since 1970'
    if claim == "exp" and value is None:
        expected = 'Invalid token: Token is missing the "exp" claim'
    assert rejection(forge(claims={**CLAIMS, claim: value})) == expected


def test_a_token_has_an_end() -> None:
    claims = {name: value for name, value in CLAIMS.items() if name != "exp"}
    assert rejection(forge(claims=claims)) == 'Invalid token: Token is missing the "exp" claim'


AUDIENCE = "Invalid token audience - token not valid for this service"


@pytest.mark.parametrize(
    ("audience", "expected"),
    [
        ("spanwise", None),
        (["x", "spanwise"], None),
        ("other", AUDIENCE),
        (["x"], AUDIENCE),
        ([], AUDIENCE),
        ("span", AUDIENCE),
        ("spanwise2", AUDIENCE),
        ("Spanwise", AUDIENCE),
        (["spanwise", 1], AUDIENCE),
        ({"spanwise": 1}, AUDIENCE),
        (None, 'Invalid token: Token is missing the "aud" claim'),
    ],
)
def test_the_audience_is_exact(audience: object, expected: str | None) -> None:
    token = forge(claims={**CLAIMS, "aud": audience})
    verifying = verifier(audience="spanwise")
    assert (rejection(token, verifying) if expected else verifying.verify(token).user_id) == (expected or "alice")


@pytest.mark.parametrize(
    ("issuer", "is_ours"),
    [
        ("https://id.test/", True),
        ("https://id.test", False),
        ("https://id.test/x", False),
        ("HTTPS://ID.TEST/", False),
        (["https://id.test/"], False),
        (None, False),
    ],
)
def test_the_issuer_is_exact(issuer: object, *, is_ours: bool) -> None:
    token = forge(claims={**CLAIMS, "iss": issuer})
    verifying = verifier(issuer="https://id.test/")
    expected = "alice" if is_ours else "Invalid token: Invalid issuer"
    assert (verifying.verify(token).user_id if is_ours else rejection(token, verifying)) == expected


@pytest.mark.parametrize(
    ("sub", "expected"),
    [
        (None, 'Invalid token: Token is missing the "sub" claim'),
        (1, "Invalid token: Subject must be a string"),
        (["alice"], "Invalid token: Subject must be a string"),
        ({}, "Invalid token: Subject must be a string"),
        *itertools.product(
            ["", " ", " alice", "alice\n", "a\0b", "\x1b[31m", "a\u202eb", "\ud800", "a" * 257],
            ["Invalid token subject"],
        ),
        *itertools.product(["sa:", "sa:evil", "__scheduler__", "__oauth__:x"], ["Invalid token subject"]),
    ],
)
@pytest.mark.parametrize("claim", ["sub", "email"])
def test_a_subject_is_usable(claim: str, sub: object, expected: str) -> None:
    claims = {**CLAIMS, claim: sub}
    assert rejection(forge(claims=claims), verifier(user_id_claim=claim)) == expected.replace('"sub"', f'"{claim}"')


def test_without_a_subject_there_is_nobody() -> None:
    assert rejection(forge(claims={"exp": NOW + 60})) == 'Invalid token: Token is missing the "sub" claim'


@pytest.mark.parametrize("sub", ["a", "a" * 256, "Zoë Müller", "auth0|1234", "sa", "scheduler"])
def test_a_usual_subject_is_usable(sub: str) -> None:
    assert verifier().verify(forge(claims={**CLAIMS, "sub": sub})).user_id == sub


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"scopes": ["a:b", "c:d"]}, {"a:b", "c:d"}),
        ({"scopes": "a:b  c:d"}, {"a:b", "c:d"}),
        ({"scope": "a:b c:d"}, {"a:b", "c:d"}),
        ({"scopes": None, "scope": ["a:b"]}, {"a:b"}),
        ({"scopes": [], "scope": "a:b"}, set()),
        ({"scopes": ""}, set()),
        ({}, set()),
    ],
)
def test_scopes_are_an_array_or_a_text(claims: dict[str, object], expected: set[str]) -> None:
    assert verifier().verify(forge(claims={"sub": "alice", "exp": NOW + 60, **claims})).scopes == expected


@pytest.mark.parametrize("value", [1, {"a:b": 1}, [1], ["a:b", None], True])
def test_scopes_of_another_type_are_rejected(value: object) -> None:
    expected = 'Invalid token: Claim "scopes" must be an array of strings or a string'
    assert rejection(forge(claims={**CLAIMS, "scopes": value})) == expected


@pytest.mark.parametrize("value", [1, "", [], "a\nb"])
def test_a_session_is_usable(value: object) -> None:
    expected = 'Invalid token: Claim "session_id" must be a non-empty printable string'
    assert rejection(forge(claims={**CLAIMS, "session_id": value})) == expected


@pytest.mark.parametrize(
    "source",
    [
        b'{"sub":"alice","sub":"bob","exp":1700000600}',
        b'{"sub":"alice","exp":1700000600,"exp":1800000000}',
        b'{"sub":"alice","exp":1700000600,"x":{"y":1,"y":2}}',
        b'{"sub":"alice","exp":1700000600,"x":NaN}',
        b'{"sub":"alice","exp":1700000600,"x":Infinity}',
        b'{"sub":"alice","exp":1e400}',
        b'{"sub":"alice","exp":1700000600,"x":' + b"9" * 5000 + b"}",
        b'{"sub":"alice","exp":1700000600}{}',
        b'\xef\xbb\xbf{"sub":"alice","exp":1700000600}',
        '{"sub":"alice","exp":1700000600}'.encode("utf-16"),
        b'{"sub":"alice\xff","exp":1700000600}',
        b"[" * 2500 + b"]" * 2500,
        b'["sub"]',
        b'"sub"',
        b"null",
        b"",
    ],
)
def test_claims_can_be_read_in_one_way_only(source: bytes) -> None:
    expected = "Invalid token: Invalid payload string" if source else "Invalid token: Not enough segments"
    assert rejection(forge(claims=source)) == expected
    assert rejection(forge(source), verifier()) == expected.replace("payload", "header")


@pytest.mark.parametrize("claim", [b'"\\ud800"', b'{"\\udfff":1}'])
def test_claims_are_text(claim: bytes) -> None:
    source = b'{"sub":"alice","exp":1700000600,"x":[' + claim + b"]}"
    assert rejection(forge(claims=source)).startswith("Invalid token: Invalid claims: it ")
