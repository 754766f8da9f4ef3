"""Sign-in for a team: a real oauth2-proxy in front of a service, with a test identity provider.

Both programs are installed by hand: `oauth2-proxy`, and `oidc-provider-mock` in its own environment.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

from support.documents import blocks_of
from support.paths import ROOT
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVE, PROXY = (block.text for block in blocks_of(ROOT / "docs" / "how-to" / "sign-in.md") if block.language == "sh")
USERS = {"ann": ["traces:read"], "zed": []}
START_SECONDS = 30


@contextmanager
def running(command: list[str], log: Path, probe: str) -> Iterator[None]:
    """Runs a program until the end of the block."""
    with log.open("ab") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            deadline = time.monotonic() + START_SECONDS
            while True:
                try:
                    httpx.get(probe)
                    break
                except httpx.TransportError:
                    assert process.poll() is None, log.read_text()
                    assert time.monotonic() < deadline, log.read_text()
                    time.sleep(0.1)
            yield
        finally:
            process.terminate()


def adapted(command: str, changes: dict[str, str]) -> list[str]:
    """Returns the words of a printed command, with the test's addresses and secrets."""
    for printed, here in changes.items():
        assert printed in command
        command = command.replace(printed, here)
    return shlex.split(command.replace("\\\n", " "))


@contextmanager
def signed_in(url: str, user: str) -> Iterator[httpx.Client]:
    """A browser that has signed in at the provider."""
    with httpx.Client(base_url=url, follow_redirects=True) as browser:
        form = browser.get("/ui")
        assert user in form.text
        assert "Spanwise" in browser.post(form.url, data={"sub": user}).text
        yield browser


@pytest.mark.slow
def test_a_team_signs_in_as_the_guide_says(tmp_path: Path) -> None:
    for program in ("oauth2-proxy", "oidc-provider-mock"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    issuer, url = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
    claims = [json.dumps({"sub": user, "email": f"{user}@example.org", "scopes": USERS[user]}) for user in USERS]
    users = [word for claim in claims for word in ("--user-claims", claim)]
    provider = ["oidc-provider-mock", "--port", issuer.rpartition(":")[2], *users]
    with running(provider, tmp_path / "provider.log", f"{issuer}/jwks"):
        # The tokens of this provider have no key id, so the keys must not have one either.
        keys = httpx.get(f"{issuer}/jwks").json()["keys"]
        nameless = {"keys": [{name: value for name, value in key.items() if name != "kid"} for key in keys]}
        (tmp_path / "jwks.json").write_text(json.dumps(nameless))
        flags = adapted(
            re.sub(r"--jwt-jwks-url \S+", f"--jwt-jwks-file {tmp_path / 'jwks.json'}", SERVE),
            {"https://login.example.org": issuer},
        )
        assert flags[:2] == ["spanwise", "serve"]
        with RunningService(tmp_path / "data", *flags[2:]) as service:
            proxy = adapted(
                PROXY,
                {
                    "https://login.example.org": issuer,
                    "https://traces.example.org": url,
                    "http://127.0.0.1:7777": service.url,
                    "127.0.0.1:4180": url.removeprefix("http://"),
                    "$CLIENT_SECRET": "secret",
                    "$COOKIE_SECRET": "0123456789abcdef0123456789abcdef",
                },
            )
            # The test has no TLS, and the provider verifies no address.
            here = ["--cookie-secure=false", "--insecure-oidc-allow-unverified-email"]
            with running([*proxy, *here], tmp_path / "proxy.log", f"{url}/ping"):
                assert httpx.get(f"{url}/traces").status_code == 302
                with signed_in(url, "ann") as ann, signed_in(url, "zed") as zed:
                    assert ann.get("/info").json()["authenticated"] is True
                    assert ann.get("/traces").status_code == 200
                    assert ann.get("/metrics").status_code == 403
                    assert zed.get("/traces").status_code == 403
                assert service.http.get("/traces").status_code == 401
            assert service.stop() == 0
