"""The user interface over HTTP: access, browser policies, and the paths that lead to it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from spanwise import Service
from spanwise.http.middleware.compression import MIN_BYTES
from spanwise.ui.files import read_files
from support.clients.tokens import jwks_file
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASSETS = sorted(path for path in read_files() if path.startswith("assets/"))
FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("ui")
    with RunningService(folder / "data", "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as running:
        yield running
        assert running.stop() == 0


def test_the_page_is_for_everybody_and_may_do_little(guarded: RunningService) -> None:
    response = guarded.http.get("/ui")
    assert (response.status_code, response.content) == (200, read_files()["index.html"])
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["cache-control"] == "private, no-cache"
    policy = dict(part.split(" ", 1) for part in response.headers["content-security-policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "font-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "svelte-trusted-html",
    }
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cross-origin-opener-policy"] == "same-origin"
    again = guarded.http.get("/ui", headers={"If-None-Match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["content-security-policy"] == response.headers["content-security-policy"]


@pytest.mark.parametrize("path", ASSETS)
def test_a_file_with_a_hash_in_its_name_is_kept_for_ever(guarded: RunningService, path: str) -> None:
    for encoding in ("identity", "gzip"):
        response = guarded.http.get(f"/ui/{path}", headers={"Accept-Encoding": encoding})
        assert (response.status_code, response.content) == (200, read_files()[path])
        is_compressed = encoding == "gzip" and len(response.content) >= MIN_BYTES
        assert response.headers.get("content-encoding") == ("gzip" if is_compressed else None)
        assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert response.headers["vary"] == "Accept-Encoding"
    head = guarded.http.head(f"/ui/{path}")
    assert (head.status_code, head.content) == (200, b"")
    assert guarded.http.get(f"/ui/{path}", headers={"If-None-Match": head.headers["etag"]}).status_code == 304


def test_a_file_without_one_is_asked_for_again(guarded: RunningService) -> None:
    response = guarded.http.get("/ui/THIRD_PARTY.txt")
    assert response.content == read_files()["THIRD_PARTY.txt"]
    assert response.headers["cache-control"] == "private, no-cache"
    assert response.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    "path",
    ["/ui/manifest.json", "/ui/index.html", "/ui/assets", "/ui/assets/", "/ui/assets/../index.html", "/ui/%2e%2e/x"],
)
def test_no_other_path_leads_to_a_file(service: RunningService, guarded: RunningService, path: str) -> None:
    assert service.http.get(httpx.URL(service.url, raw_path=path.encode())).status_code == 404
    assert guarded.http.get(httpx.URL(guarded.url, raw_path=path.encode())).status_code == 401


@pytest.mark.parametrize(
    ("accepted", "is_browser"),
    [
        (FIREFOX, True),
        ("text/html", True),
        ("text/*, application/json;q=0.9", True),
        ("TEXT/HTML;level=1, */*;q=0.1", True),
        ("", False),
        ("*/*", False),
        ("application/json", False),
        ("application/json, text/html", False),
        ("text/html;q=0.5, application/json", False),
        ("text/html;q=0, */*", False),
        ("text/html;q=nan", False),
        ("text/html;q=x, application/json;q=0", False),
        ("text/plain", False),
    ],
)
def test_a_browser_is_led_to_it_and_programs_get_json(guarded: RunningService, accepted: str, is_browser: bool) -> None:  # noqa: FBT001  # a column of the cases
    response = guarded.http.get("/", headers={"Accept": accepted})
    assert "Accept" in response.headers.get_list("vary", split_commas=True)
    if is_browser:
        assert (response.status_code, response.headers["location"]) == (307, "ui")
    else:
        assert response.json()["name"] == "Spanwise"


def test_a_slash_at_the_end_does_no_harm(guarded: RunningService) -> None:
    response = guarded.http.get("/ui/")
    assert (response.status_code, response.headers["location"]) == (307, "../ui")


@pytest.mark.parametrize("path", ["/", "/ui", "/health", "/docs", "/openapi.json", "/traces", "/nope", "/ui/nope"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST"])
def test_no_browser_guesses_the_type_of_a_response(guarded: RunningService, method: str, path: str) -> None:
    assert guarded.http.request(method, path).headers["x-content-type-options"] == "nosniff"


def test_below_a_prefix_of_another_application_the_way_leads_there_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        service = Service(traces=tmp_path / "traces")
        outer = Starlette(routes=[Mount("/observed", service.app)])
        await service.open()
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(outer), base_url="http://localhost", headers={"Accept": FIREFOX}
        ) as client:
            for path in ("/observed/", "/observed/ui/"):
                led = await client.get(path)
                assert urljoin(str(led.url), led.headers["location"]) == "http://localhost/observed/ui"
            assert (await client.get("/observed/ui")).content == read_files()["index.html"]
            assert (await client.get(f"/observed/ui/{ASSETS[0]}")).content == read_files()[ASSETS[0]]
        await service.close()

    asyncio.run(scenario())
