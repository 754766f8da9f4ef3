"""Attacks with tokens: each table is one kind of attack, beside a genuine token."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import jwt
import pytest

from spanwise.auth.identity import MAX_TOKEN_BYTES
from spanwise.auth.minting import SIGNING_ALGORITHMS, SigningKey
from spanwise.errors import UnauthenticatedError
from support.clients.forged_tokens import CLAIMS, NOW, forge, key, public_pem, rejection, segment, verifier

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.auth.tokens import TokenVerifier

SIGNATURE = "Invalid token: Signature verification failed"
ALGORITHM = "Invalid token: The specified alg value is not allowed"


@pytest.mark.parametrize("algorithm", SIGNING_ALGORITHMS)
def test_a_genuine_token_says_who_calls(algorithm: str) -> None:
    signing = key("own", algorithm)
    verifying = verifier(verification_keys=[public_pem(signing)], algorithm=algorithm)
    token = forge(claims={**CLAIMS, "session_id": "s1", "roles": ["a", {"b": [1]}]}, signing=signing)
    verified = verifying.verify(token)
    assert (verified.user_id, verified.session_id, verified.expires_at) == ("alice", "s1", NOW + 600)
    assert verified.scopes == {"traces:read"}
    assert verified.claims["roles"] == ("a", {"b": (1,)})
    assert verifying.verify(token) is verified


@pytest.mark.parametrize("name", ["none", "None", "NONE", "nOnE"])
@pytest.mark.parametrize("signature", ["", segment(b"\0" * 256), forge().split(".")[2]])
def test_no_signature_is_no_signature(name: str, signature: str) -> None:
    message = f"{segment({'alg': name, 'typ': 'JWT'})}.{segment(CLAIMS)}"
    expected = ALGORITHM if signature else "Invalid token: Not enough segments"
    assert rejection(f"{message}.{signature}") == expected


@pytest.mark.parametrize("signature", [b"\0", b"\0" * 256, random.Random(2).randbytes(256)])
def test_a_random_signature_is_rejected(signature: bytes) -> None:
    header, claims, _ = forge().split(".")
    assert rejection(f"{header}.{claims}.{segment(signature)}") == SIGNATURE


def test_the_signature_of_another_token_is_rejected() -> None:
    header, claims, _ = forge().split(".")
    other = forge(claims={**CLAIMS, "sub": "bob"}).split(".")[2]
    assert rejection(f"{header}.{claims}.{other}") == SIGNATURE


@pytest.mark.parametrize("ends", ["\n", "\r\n", ""])
def test_the_public_key_is_no_shared_secret(ends: str) -> None:
    text = public_pem(key("own")).strip()
    secret = (text.replace("\n", ends or "\n") + ends).encode()
    message = f"{segment({'alg': 'HS256', 'typ': 'JWT'})}.{segment(CLAIMS)}"
    signer = jwt.get_algorithm_by_name("HS256")
    assert rejection(f"{message}.{segment(signer.sign(message.encode(), secret))}") == ALGORITHM


def test_every_flipped_bit_of_the_signature_is_noticed() -> None:
    verifying = verifier(verification_keys=[public_pem(key("own", "ES256"))], algorithm="ES256")
    assert flipped_signatures(forge(signing=key("own", "ES256")), verifying) == 512
    assert flipped_signatures(forge(), verifier()) == 2048


def flipped_signatures(token: str, verifying: TokenVerifier) -> int:
    header, claims, signature = token.split(".")
    raw = int.from_bytes(jwt.utils.base64url_decode(signature))
    size = len(jwt.utils.base64url_decode(signature))
    rejected = 0
    for bit in range(size * 8):
        changed = segment((raw ^ 1 << bit).to_bytes(size))
        with pytest.raises(UnauthenticatedError):
            verifying.verify(f"{header}.{claims}.{changed}")
        rejected += 1
    return rejected


def test_every_flipped_bit_of_header_and_claims_is_noticed() -> None:
    verifying, token = verifier(), forge()
    verifying.verify(token)
    rng = random.Random(5)
    end = token.rindex(".")
    for _ in range(1000):
        changed = bytearray(token.encode())
        changed[rng.randrange(end)] ^= 1 << rng.randrange(7)
        with pytest.raises(UnauthenticatedError):
            verifying.verify(changed.decode("latin-1"))


@pytest.mark.parametrize("name", ["jku", "x5u"])
@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/", "https://evil.test/", "file:///etc/passwd", "http://169.254.169.254/"]
)
def test_a_token_does_not_say_where_its_key_is(name: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_the_world(monkeypatch)
    assert rejection(forge({"alg": "RS256", name: url}, signing=key("other"))) == SIGNATURE


@pytest.mark.parametrize("name", ["jwk", "x5c"])
def test_a_token_does_not_bring_its_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_the_world(monkeypatch)
    value = key("other").jwk if name == "jwk" else ["MIIB"]
    assert rejection(forge({"alg": "RS256", name: value, "kid": "x"}, signing=key("other"))) == SIGNATURE


def forbid_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("a token made us look outside")

    verifier()
    key("other")
    monkeypatch.setattr("socket.socket", forbidden)
    monkeypatch.setattr("builtins.open", forbidden)
    monkeypatch.setattr("pathlib.Path.open", forbidden)


KIDS: list[object] = [
    "../../dev/null",
    "/proc/self/environ",
    "x' UNION SELECT 'key'--",
    "$(sleep 9)",
    "`id`",
    "a\0b",
    "",
    "k" * 4096,
]


@pytest.mark.parametrize("kid", KIDS)
def test_a_strange_kid_finds_no_other_key(kid: object) -> None:
    assert rejection(forge({"alg": "RS256", "kid": kid}, signing=key("other"))) == SIGNATURE


@pytest.mark.parametrize("kid", [1, ["a"], None, {}, True])
def test_a_kid_is_text(kid: object) -> None:
    assert rejection(forge({"alg": "RS256", "kid": kid})) == "Invalid token: Key ID header parameter must be a string"


@pytest.mark.parametrize(
    "extension",
    [
        {"crit": ["exp"]},
        {"crit": ["http://example.test/x"], "http://example.test/x": 1},
        {"crit": []},
        {"crit": ["alg"]},
        {"crit": None},
        {"b64": False},
        {"b64": False, "crit": ["b64"]},
        {"b64": True},
    ],
)
def test_what_must_be_understood_is_rejected(extension: dict[str, object]) -> None:
    assert rejection(forge({"alg": "RS256", **extension})) == "Invalid token: Unsupported critical extension"


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256", "PS384", "PS512"])
def test_a_key_verifies_one_algorithm(algorithm: str) -> None:
    token = forge(algorithm=algorithm)
    assert rejection(token) == ALGORITHM
    assert verifier(algorithm=algorithm).verify(token).user_id == "alice"


@pytest.mark.parametrize("algorithm", [None, "", 1, ["RS256"], {"RS256": 1}, "rs256", "RS256 "])
def test_an_algorithm_is_one_of_ours(algorithm: object) -> None:
    assert rejection(forge({"alg": algorithm})) == ALGORITHM


def test_an_elliptic_signature_is_two_numbers_of_the_curve() -> None:
    ours = key("own", "ES256")
    verifying = verifier(verification_keys=[public_pem(ours)], algorithm="ES256")
    header, claims, signature = forge(signing=ours).split(".")
    raw = jwt.utils.base64url_decode(signature)
    der = jwt.utils.raw_to_der_signature(raw, ours.material.curve)  # type: ignore[union-attr]
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    for forged in (bytes(64), raw[:32] + bytes(32), bytes(32) + raw[32:], der, raw + b"\0", order.to_bytes(32) * 2):
        assert rejection(f"{header}.{claims}.{segment(forged)}", verifying) == SIGNATURE


def test_a_token_of_8_kib_is_read_and_one_byte_more_is_not() -> None:
    overhead = len(forge(claims={**CLAIMS, "pad": ""}))
    pad = (MAX_TOKEN_BYTES - overhead) * 3 // 4
    tokens = [forge(claims={**CLAIMS, "pad": "p" * size}) for size in range(pad - 3, pad + 4)]
    longest = max((token for token in tokens if len(token) <= MAX_TOKEN_BYTES), key=len)
    assert MAX_TOKEN_BYTES - len(longest) < 2
    assert verifier().verify(longest).user_id == "alice"
    assert rejection(tokens[-1]) == f"Invalid token: longer than {MAX_TOKEN_BYTES} bytes"
    assert rejection("x" * 10_000_000) == f"Invalid token: longer than {MAX_TOKEN_BYTES} bytes"


@pytest.mark.parametrize("typ", ["logout+jwt", "secevent+jwt", "dpop+jwt", "application/logout+jwt", "", None, 1, []])
def test_a_token_for_another_purpose_is_rejected(typ: object) -> None:
    token = forge({"alg": "RS256", "typ": typ})
    for required in (None, "at+jwt", "application/at+jwt"):
        expected = "Invalid token: The specified typ value is not allowed"
        assert rejection(token, verifier(required_typ=required)) == expected


@pytest.mark.parametrize("header", [{}, {"typ": "JWT"}])
def test_a_required_type_must_be_named(header: dict[str, str]) -> None:
    expected = "Invalid token: The specified typ value is not allowed"
    assert rejection(forge({"alg": "RS256", **header}), verifier(required_typ="at+jwt")) == expected
    assert rejection(forge({"alg": "RS256"}), verifier(required_typ="JWT")) == expected
    assert verifier().verify(forge({"alg": "RS256", **header})).user_id == "alice"


@pytest.mark.parametrize("typ", ["at+jwt", "AT+JWT", "application/at+jwt"])
def test_an_access_token_is_accepted(typ: str) -> None:
    for required in (None, "at+jwt", "application/at+jwt"):
        assert verifier(required_typ=required).verify(forge({"alg": "RS256", "typ": typ})).user_id == "alice"


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token + "=",
        lambda token: token.replace(".", "=.", 1),
        lambda token: token + ".x",
        lambda token: token + ".x.y",
        lambda token: token + "\n",
        lambda token: " " + token,
        lambda token: token.rpartition(".")[0],
        lambda token: token[: token.index(".")],
        lambda token: token.replace(".", ".."),
        lambda token: token[:-1] + "+",
        lambda token: token[:-1] + "é",
        lambda token: token[:-1] + "\ud800",
        lambda _: "",
        lambda _: "..",
        lambda _: "agno_pat_123",
    ],
)
def test_a_token_has_one_spelling(change: Callable[[str], str]) -> None:
    assert rejection(change(forge())) == "Invalid token: Not enough segments"


def test_spare_bits_of_base64_are_zero() -> None:
    header, claims, signature = forge().split(".")
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    spare = alphabet[alphabet.index(signature[-1]) | 1]
    assert spare != signature[-1]
    assert rejection(f"{header}.{claims}.{signature[:-1]}{spare}") == SIGNATURE


def test_keys_are_tried_in_order_until_one_fits() -> None:
    pems = [public_pem(key(name)) for name in ("other", "own")]
    verifying = verifier(verification_keys=pems)
    for name in ("other", "own"):
        assert verifying.verify(forge(signing=key(name))).user_id == "alice"
    assert rejection(forge(signing=key("a stranger's")), verifying) == SIGNATURE


ADMIN = {**CLAIMS, "sub": "administrator", "scopes": ["agent_os:admin"]}


def exploits() -> dict[str, str]:
    """Returns the known exploits of careless verifiers. Each token would make its sender an administrator."""
    theirs = key("other")
    header, _, signature = forge().split(".")
    pem = public_pem(key("own")).encode()
    message = f"{segment({'alg': 'HS256'})}.{segment(ADMIN)}"
    hmac = jwt.get_algorithm_by_name("HS256")
    return {
        "unverified signature": f"{header}.{segment(ADMIN)}.{signature}",
        "flawed signature verification": f"{segment({'alg': 'none'})}.{segment(ADMIN)}.",
        "weak signing key": forge(claims=ADMIN, signing=SigningKey("HS256", b"secret1")),
        "jwk header injection": forge({"alg": "RS256", "jwk": theirs.jwk}, ADMIN, theirs),
        "jku header injection": forge({"alg": "RS256", "jku": "https://evil.test/jwks.json"}, ADMIN, theirs),
        "kid path traversal": forge({"alg": "HS256", "kid": "../../dev/null"}, ADMIN, SigningKey("HS256", b"\0")),
        "algorithm confusion": f"{message}.{segment(hmac.sign(message.encode(), pem))}",
        "algorithm confusion, key derived": f"{message}.{segment(hmac.sign(message.encode(), pem.strip()))}",
    }


@pytest.mark.parametrize(("lab", "token"), exploits().items())
@pytest.mark.parametrize("algorithm", SIGNING_ALGORITHMS)
def test_the_known_exploits_fail(lab: str, token: str, algorithm: str) -> None:
    verifying = verifier(verification_keys=[public_pem(key("own", algorithm))], algorithm=algorithm)
    assert rejection(token, verifying), lab


def test_a_forged_expired_token_learns_nothing_about_time() -> None:
    claims = {**CLAIMS, "exp": 1}
    assert rejection(forge(claims=claims, signing=key("other"))) == SIGNATURE
    assert rejection(forge(claims=claims)) == "Token has expired"


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_signature_has_one_spelling(algorithm: str) -> None:
    """The unused bits of the last base64 character must be zero. Otherwise one token would have many spellings."""
    verifying = verifier(verification_keys=[public_pem(key("own", algorithm))], algorithm=algorithm)
    token = forge(signing=key("own", algorithm))
    verifying.verify(token)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    last = letters.index(token[-1])
    for spare in range(1, 16):
        assert rejection(token[:-1] + letters[last + spare], verifying) == SIGNATURE


def test_the_header_of_a_good_token_opens_no_way_for_a_bad_one() -> None:
    """A parsed header is cached, but every signature is verified."""
    verifying = verifier()
    verifying.verify(forge())
    assert rejection(forge(signing=key("other")), verifying) == SIGNATURE
    assert verifier(required_typ="at+jwt").verify(forge({"alg": "RS256", "typ": "at+jwt"})).user_id == "alice"
    assert (
        rejection(forge(), verifier(required_typ="at+jwt")) == "Invalid token: The specified typ value is not allowed"
    )
    assert rejection(forge({"alg": "RS256", "typ": "at+jwt", "crit": ["x"]})).endswith("Unsupported critical extension")
