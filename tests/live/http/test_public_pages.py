"""Public pages: compressed once, cached by clients, and without effect on known callers."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import TYPE_CHECKING

import httpx
import pytest

from support.clients.tokens import as_admin, jwks_file
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = ["/docs", "/redoc", "/openapi.json"]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("public")
    flags = ("--authorization", "--response-buffer-bytes", "100000", "--unknown-processor-share", "1")
    with RunningService(folder / "data", *flags, JWT_JWKS_FILE=jwks_file(folder)) as service:
        yield service
        assert service.stop() == 0


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_page_is_not_sent_again_to_a_client_that_has_it(guarded: RunningService, path: str, encoding: str) -> None:
    first = guarded.http.get(path, headers={"Accept-Encoding": encoding})
    assert first.headers.get("content-encoding", "identity") == encoding
    assert first.headers["cache-control"] == "private, no-cache"
    tag = first.headers["etag"]
    for given in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
        again = guarded.http.get(path, headers={"If-None-Match": given})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    other = guarded.http.get(path, headers={"If-None-Match": '"other"', "Accept-Encoding": "identity"})
    assert other.status_code == 200
    assert other.content == first.content


def test_what_only_authenticated_callers_see_has_a_tag_of_its_own(guarded: RunningService) -> None:
    tags = {path: guarded.http.get(path).headers["etag"] for path in PAGES}
    assert len(set(tags.values())) == len(PAGES)
    assert "no-store" in guarded.http.get("/health").headers["cache-control"]


def test_public_pages_that_nobody_reads_keep_no_known_caller_out(guarded: RunningService) -> None:
    request = b"GET /docs HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n" * 30
    with ExitStack() as opened:
        for _ in range(160):
            reader = opened.enter_context(socket.socket())
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect(("127.0.0.1", guarded.port))
            reader.sendall(request)
        # The share of an address is full only until the kernel has taken over the responses that wait.
        with httpx.Client() as client:
            responses = [client.get(f"{guarded.url}/docs") for _ in range(5)]
        crowded = {(response.status_code, response.headers.get("retry-after")) for response in responses}
        for _ in range(50):
            response = guarded.http.post("/traces/search", json={}, headers=as_admin())
            assert response.status_code == 200, response.text
        assert guarded.http.get("/health").is_success
        assert (503, "1") in crowded, "an address has a share of them"


COSTLY_HEADERS = {
    "accept-encoding": [("," * 30_000), (";" * 30_000), "gzip;q=0.5," * 2_700],
    "accept": [("," * 30_000), (";" * 30_000), "text/html;q=0.5," * 1_800],
    "if-none-match": [("," * 30_000), 'W/"x",' * 5_000],
}
"""By name: values of 30 KB. Each once took up to 60 ms before the caller was known."""


@pytest.mark.parametrize("path", ["/", "/health", *PAGES])
@pytest.mark.parametrize("name", COSTLY_HEADERS)
def test_headers_of_many_pieces_are_not_taken_apart(guarded: RunningService, path: str, name: str) -> None:
    for value in COSTLY_HEADERS[name]:
        response = guarded.http.get(path, headers={"Accept-Encoding": "identity", name: value})
        assert response.status_code == 200
        assert "content-encoding" not in response.headers


@pytest.mark.parametrize("query", ["a&" * 100, "ready=true&" * 100, "&" * 30_000, "%41" * 10_000])
def test_a_public_query_is_short(guarded: RunningService, query: str) -> None:
    response = guarded.http.get(f"/health?{query}")
    assert (response.status_code, response.json()["error_code"]) == (422, "VALIDATION_ERROR")
    assert response.json()["detail"].startswith("the query ")


def test_nothing_of_a_request_without_a_token_is_repeated_to_its_sender(guarded: RunningService) -> None:
    for path in ("/nope", "/traces", "/" + "x" * 10_000):
        response = guarded.http.get(f"{path}?{'a&' * 5_000}", headers={"Content-Type": "x" * 5_000})
        assert response.status_code == 401
        assert len(response.content) < 500
