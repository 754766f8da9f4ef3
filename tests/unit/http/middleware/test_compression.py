from __future__ import annotations

import asyncio
import gzip
from typing import TYPE_CHECKING, Any

import httpx
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from spanwise.http.middleware import compression
from spanwise.http.middleware.compression import MIN_BYTES, Compression, choose_encoding

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [
        ("", None),
        ("gzip", "gzip"),
        ("GZIP", "gzip"),
        ("zstd, gzip", "zstd"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip;q=1, zstd;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("gzip ; q = 0.5", "gzip"),
        ("*", "zstd"),
        ("*;q=0", None),
        ("zstd;q=0, *", "gzip"),
        ("identity, gzip;q=0.5", None),
        ("br, deflate", None),
        ("gzip;q=x", None),
        ("gzip;q=nan", None),
    ],
)
def test_an_encoding_is_chosen_as_the_caller_accepts(accepted: str, chosen: str | None) -> None:
    assert choose_encoding(accepted) == chosen


@given(st.text(max_size=40))
def test_any_header_is_read(accepted: str) -> None:
    assert choose_encoding(accepted) in {None, "gzip", "zstd"}


def response_of(body: bytes, accepted: str, **headers: str) -> tuple[Any, bytes]:
    """Returns the headers of a response, and its body as sent."""

    async def whole(_request: Request) -> Response:
        return Response(body, headers=headers)

    async def scenario() -> tuple[Any, bytes]:
        transport = httpx.ASGITransport(Compression(Starlette(routes=[Route("/", whole)])))
        async with (
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
            client.stream("GET", "/", headers={"Accept-Encoding": accepted}) as response,
        ):
            return response.headers, b"".join([part async for part in response.aiter_raw()])

    return asyncio.run(scenario())


@pytest.mark.parametrize("size", [MIN_BYTES, 70_000, 1_000_000])
def test_a_compressed_body_is_the_same_body(size: int) -> None:
    body = bytes(number % 251 for number in range(size))
    for encoding in ("gzip", "zstd"):
        headers, sent = response_of(body, encoding)
        assert headers["content-encoding"] == encoding
        assert headers["vary"] == "Accept-Encoding"
        assert int(headers["content-length"]) == len(sent) < size
        unpacked = gzip.decompress(sent) if encoding == "gzip" else pa.decompress(sent, size, "zstd", asbytes=True)
        assert unpacked == body


def test_a_small_unaccepted_or_encoded_body_is_not_compressed() -> None:
    large = b"x" * MIN_BYTES
    for body, accepted, given_headers in (
        (b"x" * (MIN_BYTES - 1), "gzip", {}),
        (large, "identity", {}),
        (large, "gzip", {"Content-Encoding": "br"}),
    ):
        headers, sent = response_of(body, accepted, **given_headers)
        assert sent == body
        assert headers.get("content-encoding") == given_headers.get("Content-Encoding")


def test_a_stream_is_not_compressed() -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b"x" * MIN_BYTES

    async def scenario() -> None:
        stream = Starlette(routes=[Route("/", lambda _: StreamingResponse(parts()))])
        transport = httpx.ASGITransport(Compression(stream))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            response = await client.get("/", headers={"Accept-Encoding": "gzip"})
            assert response.content == b"x" * MIN_BYTES * 3
            assert "content-encoding" not in response.headers

    asyncio.run(scenario())


@pytest.mark.parametrize("accepted", ["gzip," * 15_000, "," * 60_000, ";" * 60_000, "gzip" + ";q=1" * 15_000])
def test_a_header_that_is_too_long_leaves_the_response_as_it_is(accepted: str) -> None:
    headers, body = response_of(b"x" * MIN_BYTES, accepted)
    assert "content-encoding" not in headers
    assert body == b"x" * MIN_BYTES


def test_the_header_is_not_read_for_a_small_response(monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(accepted: str) -> None:
        raise AssertionError(accepted)

    monkeypatch.setattr(compression, "choose_encoding", choose)
    _, body = response_of(b"x" * (MIN_BYTES - 1), "gzip")
    assert body == b"x" * (MIN_BYTES - 1)
