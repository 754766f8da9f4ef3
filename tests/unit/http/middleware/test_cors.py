from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from support.mounted_service import client_of

from spanwise import ConfigurationError, Service, TraceStore
from spanwise.http.middleware.cors import parse_origins

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


def answers(store: TraceStore, origins: str, *asked: tuple[str, dict[str, str]]) -> list[httpx.Response]:
    async def scenario() -> list[httpx.Response]:
        settings: dict[str, Any] = {"cors_origins": origins}
        async with client_of(Service(traces=store, settings=settings)) as client:
            return [
                await client.request(method, "/traces/search", headers=headers, json={}) for method, headers in asked
            ]

    return asyncio.run(scenario())


def test_by_default_no_page_of_another_origin_may_read(store: TraceStore) -> None:
    asked, read = answers(store, "", ("OPTIONS", {"Origin": OURS, **PREFLIGHT}), ("POST", {"Origin": OURS}))
    assert (asked.status_code, asked.json()["error_code"]) == (405, "METHOD_NOT_ALLOWED")
    assert read.status_code == 200
    assert not any(name.startswith("access-control") for answer in (asked, read) for name in answer.headers)


def test_pages_of_a_named_origin_may_ask_and_read(store: TraceStore) -> None:
    for origins in (OURS, f"http://localhost:3000, {OURS.upper()}", "*"):
        asked, read = answers(store, origins, ("OPTIONS", {"Origin": OURS, **PREFLIGHT}), ("POST", {"Origin": OURS}))
        assert asked.status_code == 204
        assert "POST" in asked.headers["access-control-allow-methods"]
        assert "Authorization" in asked.headers["access-control-allow-headers"]
        for answer in (asked, read):
            assert answer.headers["access-control-allow-origin"] == OURS
            assert "Origin" in answer.headers["vary"]
            assert "access-control-allow-credentials" not in answer.headers
        assert read.status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://ours.example.evil", "http://ours.example", "https://ours.example:8", "null"]
)
def test_pages_of_an_origin_like_it_may_not(store: TraceStore, origin: str) -> None:
    for answer in answers(store, OURS, ("OPTIONS", {"Origin": origin, **PREFLIGHT}), ("POST", {"Origin": origin})):
        assert "access-control-allow-origin" not in answer.headers


def test_what_is_no_origin_is_refused() -> None:
    assert parse_origins(" https://a.example , *,") == {"https://a.example", "*"}
    for text in ("ours.example", "https://ours.example/", "https://*.example", "file:///x", "null"):
        with pytest.raises(ConfigurationError, match="cors_origins"):
            parse_origins(text)
