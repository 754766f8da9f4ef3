"""A JWKS at a URL: unknown keys, an unavailable provider, and responses that are not a JWKS."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import TYPE_CHECKING
from urllib.request import Request

import pytest

from spanwise.auth import jwks_url
from spanwise.auth.config import AuthorizationConfig, key_material
from spanwise.auth.jwks_url import FetchError, JwksUrl, fetch
from spanwise.auth.key_ring import KeyRing
from spanwise.auth.tokens import TokenVerifier, UnknownKeyError
from spanwise.errors import ConfigurationError, UnauthenticatedError
from support.clients.forged_tokens import (
    Clock,
    PublishedJwks,
    forge,
    is_accepted,
    jwks,
    key,
    public_pem,
    token,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def url_verifier(published: PublishedJwks, clock: Clock) -> TokenVerifier:
    config = AuthorizationConfig(jwks_url="https://id.test/jwks")
    return TokenVerifier(config, KeyRing(key_material(config), clock, published), clock)


def test_an_unknown_key_is_fetched_once_for_all_who_ask() -> None:
    published, clock = PublishedJwks(jwks("old")), Clock()
    verifying = url_verifier(published, clock)
    published.text = jwks("old", "new")
    clock.now += 1

    async def all_at_once() -> list[str]:
        published.gate.clear()
        tasks = [asyncio.create_task(verifying.verify_or_fetch(token("new", sub=f"user {each}"))) for each in range(50)]
        await asyncio.sleep(0)
        tasks.pop().cancel()
        await asyncio.sleep(0)
        published.gate.set()
        return [verified.user_id for verified in await asyncio.gather(*tasks)]

    assert asyncio.run(all_at_once()) == [f"user {each}" for each in range(49)]
    assert published.fetches == 2


def test_an_unknown_key_is_fetched_at_most_once_a_second() -> None:
    published, clock = PublishedJwks(jwks("old")), Clock()
    verifying = url_verifier(published, clock)

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


def test_while_the_address_is_away_the_last_good_keys_stay(caplog: pytest.LogCaptureFixture) -> None:
    published, clock = PublishedJwks(jwks("old")), Clock()
    verifying = url_verifier(published, clock)
    for text in (None, "", "defect", '{"keys":[]}', '{"keys":[{"kty":"oct"}]}'):
        published.text = text
        clock.now += 1
        with pytest.raises(UnknownKeyError):
            asyncio.run(verifying.verify_or_fetch(token("new")))
        assert is_accepted(verifying, token("old", jti=str(text)))
    assert "kept the last valid keys: the JWKS at the URL given by `jwks_url` returned status 503" in caplog.text
    assert "id.test" not in caplog.text
    published.text = jwks("new")
    clock.now += 1
    assert asyncio.run(verifying.verify_or_fetch(token("new"))).user_id == "alice"
    assert not is_accepted(verifying, token("old"))


def test_a_ring_with_an_address_knows_its_age_and_can_be_closed() -> None:
    published, clock = PublishedJwks(jwks("old")), Clock()
    ring = KeyRing(key_material(AuthorizationConfig(jwks_url="https://id.test/jwks")), clock, published)
    clock.now += 3
    assert ring.jwks_age_seconds == 3
    ring.close()
    clock.now += 3
    assert ring.refetch() is None
    fixed = KeyRing(key_material(AuthorizationConfig(verification_keys=[public_pem(key("own"))])))
    assert fixed.jwks_age_seconds is None
    fixed.close()


def test_the_age_of_the_keys_is_known_and_the_thread_ends() -> None:
    published, clock = PublishedJwks(jwks("old")), Clock()
    source = JwksUrl("`jwks_url`", "https://id.test/jwks", "RS256", published, clock)
    clock.now += 5
    assert source.age_seconds == 5
    source.close()
    source.close()
    source._thread.join(10)  # noqa: SLF001  # the test shows that it ends
    assert not source._thread.is_alive()  # noqa: SLF001
    assert source.refetch() is None


def test_nobody_waits_for_what_is_closed() -> None:
    published, clock = PublishedJwks(jwks("old")), Clock()
    source = JwksUrl("`jwks_url`", "https://id.test/jwks", "RS256", published, clock)
    clock.now += 1
    with source._changed:  # noqa: SLF001  # the thread must not run between the two
        waiting = source.refetch()
        source.close()
    assert waiting
    waiting.result(10)
    assert published.fetches == 1


def test_keys_are_fetched_again_without_anyone_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.auth.jwks_url.REFRESH_SECONDS", 0.01)
    published = PublishedJwks(jwks("old"))
    source = JwksUrl("`jwks_url`", "https://id.test/jwks", "RS256", published, Clock())
    published.text = jwks("new")
    for _ in range(1000):
        if source.keys()[0].kid == "new":
            break
        time.sleep(0.01)
    assert source.keys()[0].kid == "new"
    source.close()


@pytest.mark.parametrize("text", [None, "", '{"keys":[]}', "x" * (1024 * 1024 + 1)])
def test_without_a_first_good_fetch_the_start_is_rejected(text: str | None) -> None:
    published = PublishedJwks("")
    published.text = text
    with pytest.raises(ConfigurationError, match=r"^the JWKS at the URL given by `JWT_JWKS_URL`") as rejected:
        JwksUrl("`JWT_JWKS_URL`", "https://id.test/jwks", "RS256", published, Clock())
    assert "id.test" not in str(rejected.value)


class Provider(BaseHTTPRequestHandler):
    """An identity provider that behaves differently on each path."""

    def do_GET(self) -> None:
        match self.path:
            case "/jwks":
                self.response(200, jwks("old").encode())
            case "/moved":
                self.response(302, b"", Location="/jwks")
            case "/loop":
                self.response(302, b"", Location="/loop")
            case "/to-file":
                self.response(302, b"", Location="file:///etc/passwd")
            case "/to-ftp":
                self.response(302, b"", Location="ftp://127.0.0.1/jwks")
            case "/large":
                self.response(200, b" " * (1024 * 1024 + 1))
            case "/pieces":
                pieces = [f"{len(piece):x}\r\n{piece}\r\n" for piece in (jwks("old")[:9], jwks("old")[9:], "")]
                self.response(200, "".join(pieces).encode(), **{"Transfer-Encoding": "chunked"})
            case "/nonsense":
                self.wfile.write(b"\0\r\n\r\n")
            case "/short":
                self.response(200, b"{}", **{"Content-Length": "100"})
            case _:
                self.response(503, b"secret detail")

    def response(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


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


@pytest.mark.parametrize("endpoint", ["/jwks", "/moved", "/pieces"])
def test_a_jwks_is_fetched(provider: str, endpoint: str) -> None:
    assert fetch(provider + endpoint).decode() == jwks("old")


@pytest.mark.parametrize(
    ("endpoint", "why"),
    [
        ("/absent", "returned status 503"),
        ("/loop", "returned status 302"),
        ("/to-file", "returned status 302"),
        ("/to-ftp", "redirects to a different URL scheme"),
        ("/large", "is larger than 1048576 bytes"),
        ("/nonsense", "could not be read: BadStatusLine"),
        ("/short", "ended before its Content-Length"),
    ],
)
def test_what_is_no_jwks_is_not_fetched(provider: str, endpoint: str, why: str) -> None:
    with pytest.raises(FetchError) as rejected:
        fetch(provider + endpoint)
    assert str(rejected.value) == why


def test_a_redirect_keeps_its_protection() -> None:
    redirects = jwks_url._SafeRedirect()  # noqa: SLF001  # a server with a certificate would not show more
    response = (BytesIO(), 302, "Found", Message())
    assert redirects.redirect_request(Request("https://id.test/a"), *response, "https://id.test/b")
    with pytest.raises(FetchError, match=r"^redirects to a different URL scheme$"):
        redirects.redirect_request(Request("https://id.test/a"), *response, "http://id.test/b")


def test_a_slow_response_times_out(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.auth.jwks_url.FETCH_SECONDS", -1)
    with pytest.raises(FetchError, match=r"^took longer than -1 s$"):
        fetch(provider + "/jwks")


def test_an_unreachable_url_is_reported_without_naming_it() -> None:
    with pytest.raises(FetchError, match=r"^could not be reached: ConnectionRefusedError$"):
        fetch("http://127.0.0.1:9/jwks")


def test_a_plain_address_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    def published(_url: str) -> bytes:
        return jwks("old").encode()

    JwksUrl("`jwks_url`", "http://localhost/jwks", "RS256", published, Clock()).close()
    assert not caplog.records
    JwksUrl("`jwks_url`", "http://id.test/jwks", "RS256", published, Clock()).close()
    assert "`jwks_url` is not https" in caplog.text
