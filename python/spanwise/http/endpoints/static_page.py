"""Pages and files that are the same for everyone. They are compressed once, and clients may cache them."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from starlette.responses import Response

from spanwise.http.middleware.compression import MIN_BYTES, choose_encoding, compress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

MAX_VARIANTS = 256
"""Cached pages and their compressed forms. The service has fewer, so each is compressed once."""


def static_response(
    request: Request, body: bytes, media_type: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Returns the response with a page, or 304 if the client has the current version.

    Args:
        request: its `If-None-Match` header names the version that the client has.
        body: the page.
        media_type: its media type.
        headers: additional headers. They replace the default headers of pages with the same name.
    """
    tag = _tag(body)
    shared = {"ETag": tag, "Cache-Control": "private, no-cache", **(headers or {})}
    given = request.headers.get("if-none-match", "")
    if given == "*" or tag.removeprefix("W/") in given:  # a quoted tag is never part of another tag
        return Response(status_code=304, headers=shared)
    encoding = choose_encoding(request.headers.get("accept-encoding", ""))
    if encoding is None or len(body) < MIN_BYTES:
        return Response(body, media_type=media_type, headers=shared)
    return Response(
        _compressed(body, encoding), media_type=media_type, headers={**shared, "Content-Encoding": encoding}
    )


@lru_cache(MAX_VARIANTS)
def _tag(body: bytes) -> str:
    return f'W/"{sha256(body).hexdigest()[:32]}"'


@lru_cache(MAX_VARIANTS)
def _compressed(body: bytes, encoding: str) -> bytes:
    return compress(body, encoding)
