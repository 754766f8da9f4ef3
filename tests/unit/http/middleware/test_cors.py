from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from spanwise import ConfigurationError, Service, TraceStore
from spanwise.http.middleware.cors import parse_origins
from support.in_process.client import client_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx

OURS = "https://ours.example"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    store = TraceStore.open(str(tmp_path / "traces"))
    yield store
    store.close()


def responses_to(store: TraceStore, origins: str, *preflight: tuple[str, dict[str, str]]) -> list[httpx.Response]:
    async def scenario() -> list[httpx.Response]:
        settings: dict[str, Any] = {"cors_origins": origins}
        async with client_of(Service(traces=store, settings=settings, callers="open")) as client:
            return [
                await client.request(method, "/traces/search", headers=headers, json={})
                for method, headers in preflight
            ]

    return asyncio.run(scenario())


def test_by_default_no_page_of_another_origin_may_read(store: TraceStore) -> None:
    preflight, read = responses_to(store, "", ("OPTIONS", {"Origin": OURS, **PREFLIGHT}), ("POST", {"Origin": OURS}))
    for response in (preflight, read):
        assert (response.status_code, response.json()["error_code"]) == (403, "FORBIDDEN")
    assert not any(name.startswith("access-control") for response in (preflight, read) for name in response.headers)


def test_pages_of_a_named_origin_may_ask_and_read(store: TraceStore) -> None:
    for origins in (OURS, f"http://localhost:3000, {OURS.upper()}", "*"):
        preflight, read = responses_to(
            store, origins, ("OPTIONS", {"Origin": OURS, **PREFLIGHT}), ("POST", {"Origin": OURS})
        )
        assert preflight.status_code == 204
        assert "POST" in preflight.headers["access-control-allow-methods"]
        assert "Authorization" in preflight.headers["access-control-allow-headers"]
        for response in (preflight, read):
            assert response.headers["access-control-allow-origin"] == OURS
            assert "Origin" in response.headers["vary"]
            assert "access-control-allow-credentials" not in response.headers
        assert read.status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://ours.example.evil", "http://ours.example", "https://ours.example:8", "null"]
)
def test_pages_of_an_origin_like_it_may_not(store: TraceStore, origin: str) -> None:
    for response in responses_to(
        store, OURS, ("OPTIONS", {"Origin": origin, **PREFLIGHT}), ("POST", {"Origin": origin})
    ):
        assert "access-control-allow-origin" not in response.headers


def test_an_invalid_origin_is_rejected() -> None:
    assert parse_origins(" https://a.example , *,") == {"https://a.example", "*"}
    for text in ("ours.example", "https://ours.example/", "https://*.example", "file:///x", "null"):
        with pytest.raises(ConfigurationError, match="cors_origins"):
            parse_origins(text)
