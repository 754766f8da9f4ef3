"""Keys that come and go: a JWKS file that changes, a JWKS address that is away, and what is remembered meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from forging import CLAIMS, NOW, SECRET, forge, key, public_pem, segment, verifier

from spanwise.auth import tokens
from spanwise.auth.config import AuthorizationConfig, key_material
from spanwise.auth.jwks_file import JwksFile
from spanwise.auth.jwks_url import FetchError, JwksUrl, fetch
from spanwise.auth.key_ring import KeyRing
from spanwise.auth.key_sets import KeySet, read_jwks
from spanwise.auth.keys import ALGORITHMS, key_from_jwk
from spanwise.auth.minting import SigningKey
from spanwise.auth.tokens import TokenVerifier, UnknownKeyError
from spanwise.errors import ConfigurationError, UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def jwks(*names: str, **members: object) -> str:
    return json.dumps({"keys": [{**(key(name, "ES256").jwk or {}), "kid": name, **members} for name in names]})


def token(name: str, kid: str | None = None, **claims: object) -> str:
    header = {"alg": "ES256", "kid": name if kid is None else kid}
    return forge(header, {**CLAIMS, **claims}, key(name, "ES256"))


def nameless(name: str) -> str:
    return forge({"alg": "ES256"}, signing=key(name, "ES256"))


def is_accepted(verifying: TokenVerifier, given: str) -> bool:
    try:
        return verifying.verify(given).user_id == "alice"
    except UnauthenticatedError:
        return False


class Published:
    """A JWKS that is published in memory, and how often it was fetched."""

    def __init__(self, text: str) -> None:
        self.text: str | None = text
        self.fetches = 0
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, url: str) -> bytes:
        assert url == "https://id.test/jwks"
        self.fetches += 1
        assert self.gate.wait(10)
        if self.text is None:
            raise FetchError("answered 503")
        if self.text == "defect":
            raise RuntimeError("a defect of ours")
        return self.text.encode()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jwks.json"


def file_verifier(path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, **config: Any) -> TokenVerifier:  # noqa: ANN401
    monkeypatch.setattr(JwksFile.__init__, "__defaults__", (clock,))
    given = AuthorizationConfig(jwks_file=str(path), **config)
    return TokenVerifier(given, KeyRing(key_material(given, {})), clock)


def test_only_the_key_that_is_named_passes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"key {number}" for number in range(50)]
    path.write_text(jwks(*names), "utf-8")
    clock = Clock()
    verifying = file_verifier(path, clock, monkeypatch)
    reads = count_reads(monkeypatch)
    assert all(is_accepted(verifying, token(name)) for name in names)
    assert not is_accepted(verifying, token("key 1", kid="key 2"))
    assert not is_accepted(verifying, nameless("key 1"))
    for number in range(10_000):
        clock.now += 0.001
        assert not is_accepted(verifying, f"{token('key 1', kid='x')}"[:-4] + f"{number:04}")
    assert len(reads) <= 10


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    reads: list[None] = []
    read = JwksFile._read  # noqa: SLF001  # how often the file is opened is the figure

    def counted(self: JwksFile) -> bytes:
        reads.append(None)
        return read(self)

    monkeypatch.setattr(JwksFile, "_read", counted)
    return reads


def test_a_file_is_read_again_when_it_changes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(jwks("old"), "utf-8")
    clock = Clock()
    verifying = file_verifier(path, clock, monkeypatch)
    assert is_accepted(verifying, token("old"))
    path.write_text(jwks("new"), "utf-8")
    assert not is_accepted(verifying, token("new"))
    assert is_accepted(verifying, token("old"))
    clock.now += 1
    assert is_accepted(verifying, token("new"))
    assert not is_accepted(verifying, token("old")), "a remembered token outlived its key"


@pytest.mark.parametrize("damage", ["", "{", '{"keys":[{"kty":"RSA"}]}', None])
def test_a_file_that_turns_bad_changes_nothing(
    damage: str | None, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text(jwks("old"), "utf-8")
    clock = Clock()
    verifying = file_verifier(path, clock, monkeypatch)
    path.unlink()
    if damage is not None:
        path.write_text(damage, "utf-8")
    for _ in range(3):
        clock.now += 1
        assert is_accepted(verifying, token("old"))
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "kept the last good keys: the JWKS file that `jwks_file` names" in caplog.text
    path.write_text(jwks("new"), "utf-8")
    clock.now += 1
    assert is_accepted(verifying, token("new"))


def test_a_good_file_without_keys_takes_them_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(jwks("old"), "utf-8")
    clock = Clock()
    verifying = file_verifier(path, clock, monkeypatch)
    path.write_text('{"keys":[]}', "utf-8")
    clock.now += 1
    assert not is_accepted(verifying, token("old"))


def test_a_key_that_moves_to_another_name_is_another_key(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(jwks("old"), "utf-8")
    clock = Clock()
    verifying = file_verifier(path, clock, monkeypatch)
    assert is_accepted(verifying, token("old"))
    path.write_text(jwks("old", kid="other"), "utf-8")
    clock.now += 1
    assert not is_accepted(verifying, token("old"))
    assert is_accepted(verifying, token("old", kid="other"))


def test_a_nameless_key_of_a_jwks_serves_tokens_that_name_no_other(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = key("nameless", "ES256").jwk or {}
    del without["kid"]
    path.write_text(json.dumps({"keys": [*json.loads(jwks("named"))["keys"], without]}), "utf-8")
    verifying = file_verifier(path, Clock(), monkeypatch)
    assert is_accepted(verifying, nameless("nameless"))
    assert is_accepted(verifying, token("nameless", kid="unknown"))
    assert not is_accepted(verifying, token("nameless", kid="named"))
    assert not is_accepted(verifying, nameless("named"))


def test_one_name_for_two_keys_leaves_each_its_algorithm(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = {"kty": "oct", "alg": "HS256", "kid": "k", "k": segment(SECRET.encode())}
    public = {**(key("ours").jwk or {}), "kid": "k"}
    path.write_text(json.dumps({"keys": [secret, public]}), "utf-8")
    verifying = file_verifier(path, Clock(), monkeypatch)
    assert is_accepted(verifying, forge({"alg": "HS256", "kid": "k"}, signing=key("ours", "HS256")))
    assert is_accepted(verifying, forge({"alg": "RS256", "kid": "k"}))
    forged = SigningKey("HS256", public_pem(key("ours")).strip().replace("-", "x").encode())
    assert not is_accepted(verifying, forge({"alg": "HS256", "kid": "k"}, signing=forged))


def test_what_strangers_publish_is_taken_as_far_as_it_is_usable(caplog: pytest.LogCaptureFixture) -> None:
    good = key("ours").jwk
    text = json.dumps({"keys": [{"kty": "AKP", "alg": "ML-DSA-44"}, {"kty": "oct", "alg": "HS256", "k": "AA"}, good]})
    assert [found.algorithm for found in read_jwks(text.encode(), "RS256", is_ours=False)] == ["RS256"]
    assert [record.getMessage().partition(": it ")[2] for record in caplog.records] == [
        f"has an `alg` that is not served; expected one of {', '.join(ALGORITHMS)}",
        "is a secret, and was published",
    ]


def test_a_set_knows_its_keys() -> None:
    first, second = (key_from_jwk(key(name).jwk or {}, "RS256") for name in ("ours", "theirs"))
    found = KeySet([first])
    assert first in found
    assert second not in found
    assert len(found) == 1


def url_verifier(published: Published, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> TokenVerifier:
    monkeypatch.setattr(JwksUrl.__init__, "__defaults__", (published, clock))
    config = AuthorizationConfig(jwks_url="https://id.test/jwks")
    return TokenVerifier(config, KeyRing(key_material(config, {})), clock)


def test_an_unknown_key_is_fetched_once_for_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    published, clock = Published(jwks("old")), Clock()
    verifying = url_verifier(published, clock, monkeypatch)
    published.text = jwks("old", "new")
    clock.now += 1

    async def all_at_once() -> list[str]:
        published.gate.clear()
        asked = [asyncio.create_task(verifying.verify_or_fetch(token("new", sub=f"user {each}"))) for each in range(50)]
        await asyncio.sleep(0)
        asked.pop().cancel()
        await asyncio.sleep(0)
        published.gate.set()
        return [verified.user_id for verified in await asyncio.gather(*asked)]

    assert asyncio.run(all_at_once()) == [f"user {each}" for each in range(49)]
    assert published.fetches == 2


def test_an_unknown_key_is_asked_for_at_most_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    published, clock = Published(jwks("old")), Clock()
    verifying = url_verifier(published, clock, monkeypatch)

    async def ask(times: int) -> None:
        for _ in range(times):
            with pytest.raises(UnknownKeyError):
                await verifying.verify_or_fetch(token("new"))

    asyncio.run(ask(100))
    assert published.fetches == 1
    for second in range(3):
        clock.now += 1
        asyncio.run(ask(100))
        assert published.fetches == 2 + second
    with pytest.raises(UnauthenticatedError):
        asyncio.run(verifying.verify_or_fetch(forge({"alg": "ES256", "kid": "old"}, signing=key("x", "ES256"))))
    assert published.fetches == 4, "a forged token of a known key caused a fetch"


def test_while_the_address_is_away_the_last_good_keys_stay(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    published, clock = Published(jwks("old")), Clock()
    verifying = url_verifier(published, clock, monkeypatch)
    for text in (None, "", "defect", '{"keys":[]}', '{"keys":[{"kty":"oct"}]}'):
        published.text = text
        clock.now += 1
        with pytest.raises(UnknownKeyError):
            asyncio.run(verifying.verify_or_fetch(token("new")))
        assert is_accepted(verifying, token("old", jti=str(text)))
    assert "kept the last good keys: the JWKS at the address that `jwks_url` gives answered 503" in caplog.text
    assert "id.test" not in caplog.text
    published.text = jwks("new")
    clock.now += 1
    assert asyncio.run(verifying.verify_or_fetch(token("new"))).user_id == "alice"
    assert not is_accepted(verifying, token("old"))


def test_a_ring_with_an_address_knows_its_age_and_can_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    published, clock = Published(jwks("old")), Clock()
    monkeypatch.setattr(JwksUrl.__init__, "__defaults__", (published, clock))
    ring = KeyRing(key_material(AuthorizationConfig(jwks_url="https://id.test/jwks"), {}))
    clock.now += 3
    assert ring.jwks_age_seconds == 3
    ring.close()
    clock.now += 3
    assert ring.refetch() is None
    fixed = KeyRing(key_material(AuthorizationConfig(verification_keys=[public_pem(key("ours"))]), {}))
    assert fixed.jwks_age_seconds is None
    fixed.close()


def test_the_age_of_the_keys_is_known_and_the_thread_ends() -> None:
    published, clock = Published(jwks("old")), Clock()
    source = JwksUrl("`jwks_url`", "https://id.test/jwks", "RS256", published, clock)
    clock.now += 5
    assert source.age_seconds == 5
    source.close()
    source.close()
    source._thread.join(10)  # noqa: SLF001  # that it ends is what is shown
    assert not source._thread.is_alive()  # noqa: SLF001
    assert source.refetch() is None


def test_keys_are_fetched_again_without_anyone_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.auth.jwks_url.REFRESH_SECONDS", 0.01)
    published = Published(jwks("old"))
    source = JwksUrl("`jwks_url`", "https://id.test/jwks", "RS256", published)
    published.text = jwks("new")
    for _ in range(1000):
        if source.keys()[0].kid == "new":
            break
        time.sleep(0.01)
    assert source.keys()[0].kid == "new"
    source.close()


@pytest.mark.parametrize("text", [None, "", '{"keys":[]}', "x" * (1024 * 1024 + 1)])
def test_without_a_first_good_fetch_the_start_is_refused(text: str | None) -> None:
    published = Published("")
    published.text = text
    with pytest.raises(ConfigurationError, match=r"^the JWKS at the address that `JWT_JWKS_URL` gives") as refused:
        JwksUrl("`JWT_JWKS_URL`", "https://id.test/jwks", "RS256", published)
    assert "id.test" not in str(refused.value)


class Provider(BaseHTTPRequestHandler):
    """Answers each path with one way in which an identity provider can behave."""

    def do_GET(self) -> None:
        match self.path:
            case "/jwks":
                self.answer(200, jwks("old").encode())
            case "/moved":
                self.answer(302, b"", Location="/jwks")
            case "/loop":
                self.answer(302, b"", Location="/loop")
            case "/to-file":
                self.answer(302, b"", Location="file:///etc/passwd")
            case "/to-ftp":
                self.answer(302, b"", Location="ftp://127.0.0.1/jwks")
            case "/large":
                self.answer(200, b" " * (1024 * 1024 + 1))
            case "/pieces":
                pieces = [f"{len(piece):x}\r\n{piece}\r\n" for piece in (jwks("old")[:9], jwks("old")[9:], "")]
                self.answer(200, "".join(pieces).encode(), **{"Transfer-Encoding": "chunked"})
            case "/nonsense":
                self.wfile.write(b"\0\r\n\r\n")
            case "/short":
                self.answer(200, b"{}", **{"Content-Length": "100"})
            case _:
                self.answer(503, b"secret detail")

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Provider) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(variable)


@pytest.mark.parametrize("place", ["/jwks", "/moved", "/pieces"])
def test_a_jwks_is_fetched(provider: str, place: str) -> None:
    assert fetch(provider + place).decode() == jwks("old")


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("/absent", "answered 503"),
        ("/loop", "answered 302"),
        ("/to-file", "answered 302"),
        ("/to-ftp", "redirects to another scheme"),
        ("/large", "is larger than 1048576 bytes"),
        ("/nonsense", "could not be read: BadStatusLine"),
        ("/short", "ended before its announced length"),
    ],
)
def test_what_is_no_jwks_is_not_fetched(provider: str, place: str, why: str) -> None:
    with pytest.raises(FetchError) as refused:
        fetch(provider + place)
    assert str(refused.value) == why


def test_a_slow_answer_is_given_up(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.auth.jwks_url.FETCH_SECONDS", -1)
    with pytest.raises(FetchError, match=r"^took longer than -1 s$"):
        fetch(provider + "/jwks")


def test_nobody_at_the_address_is_said_without_naming_it() -> None:
    with pytest.raises(FetchError, match=r"^could not be reached: ConnectionRefusedError$"):
        fetch("http://127.0.0.1:9/jwks")


def test_a_plain_address_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    def published(_url: str) -> bytes:
        return jwks("old").encode()

    JwksUrl("`jwks_url`", "http://localhost/jwks", "RS256", published).close()
    assert not caplog.records
    JwksUrl("`jwks_url`", "http://id.test/jwks", "RS256", published).close()
    assert "`jwks_url` is not https" in caplog.text


def test_a_remembered_token_ends_when_it_expires() -> None:
    clock = Clock()
    verifying = TokenVerifier(AuthorizationConfig(leeway=0), verifier()._keys, clock)  # noqa: SLF001  # one key ring
    given = forge(claims={**CLAIMS, "exp": NOW + 5})
    assert is_accepted(verifying, given)
    clock.now = NOW + 4.9
    assert is_accepted(verifying, given)
    clock.now = NOW + 5
    assert not is_accepted(verifying, given)


def test_a_token_is_remembered_for_a_minute_at_most() -> None:
    clock = Clock()
    verifying = TokenVerifier(AuthorizationConfig(), verifier()._keys, clock)  # noqa: SLF001
    first = verifying.verify(forge())
    for seconds, is_remembered in ((59.9, True), (60.0, False), (60.1, True)):
        clock.now = NOW + seconds
        again = verifying.verify(forge())
        assert (again is first) == is_remembered
        first = again
    clock.now = NOW
    assert verifying.verify(forge()) is not first, "a clock that was set back must not lengthen what is remembered"


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_CACHED", 8)
    verifying = verifier(verification_keys=[SECRET], algorithm="HS256")
    given = [forge(claims={**CLAIMS, "sub": f"user {each}"}, signing=key("ours", "HS256")) for each in range(20)]
    for each in given:
        verifying.verify(each)
        assert len(verifying._cache) <= 8  # noqa: SLF001  # its size is what is bounded
    for bad in range(20):
        assert not is_accepted(verifying, given[0][:-4] + f"{bad:04}")
    assert verifying.verify(given[-1]) is verifying.verify(given[-1])


def test_the_cache_never_changes_an_answer() -> None:
    """Any order of tokens and of time gives what a verifier without memory gives."""
    rng = random.Random(7)
    clock = Clock()
    keys = verifier()._keys  # noqa: SLF001
    verifying = TokenVerifier(AuthorizationConfig(), keys, clock)
    given = [forge(claims={**CLAIMS, "exp": NOW + 20 * each, "nbf": NOW + 15 * each}) for each in range(1, 9)]
    given += [each[:-3] + "AAA" for each in given]
    for _ in range(600):
        clock.now += rng.choice([0.0, 0.1, 1.0, 3.0, -2.0])
        chosen = rng.choice(given)
        without_memory = TokenVerifier(AuthorizationConfig(), keys, clock)
        assert is_accepted(verifying, chosen) == is_accepted(without_memory, chosen)
