"""Compresses response bodies with an encoding that the client accepts."""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

from spanwise.http.requests.accept import accepted_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MIN_BYTES = 1024
"""Smaller bodies are sent uncompressed."""
MAX_BYTES_ON_LOOP = 64 * 1024
"""Larger bodies are compressed in a thread, so that other requests do not wait."""
_VARY = (b"vary", b"Accept-Encoding")
_GZIP_LEVEL = 5
_ZSTD_LEVEL = 3


def _gzip(body: bytes) -> bytes:
    compressor = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return compressor.compress(body) + compressor.flush()


def _zstd(body: bytes) -> bytes:
    import pyarrow as pa  # noqa: PLC0415  # slow to import, and many services never need it

    return bytes(pa.Codec("zstd", _ZSTD_LEVEL).compress(body, asbytes=True))


_ENCODINGS: dict[str, Callable[[bytes], bytes]] = {"zstd": _zstd, "gzip": _gzip}
"""The content encodings, the preferred one first."""


def choose_encoding(accepted: str) -> str | None:
    """Returns the content encoding to use; None to send the body uncompressed, as for an empty header.

    Args:
        accepted: the header `Accept-Encoding` of the request (RFC 9110, section 12.5.3).
    """
    weights = accepted_weights(accepted)
    offered = {coding: weights.get(coding, weights.get("*", 0.0)) for coding in _ENCODINGS}
    best = max(offered, key=lambda coding: offered[coding])
    return best if offered[best] > 0 and offered[best] >= weights.get("identity", 0.0) else None


def compress(body: bytes, encoding: str) -> bytes:
    """Returns `body` in a content encoding that `choose_encoding` returned."""
    return _ENCODINGS[encoding](body)


def _encoding(scope: Scope) -> str | None:
    accepted: bytes = dict(scope["headers"]).get(b"accept-encoding", b"")
    return choose_encoding(accepted.decode("latin-1"))


class Compression:
    """Compresses responses whose body is a single message; streamed responses are sent uncompressed."""

    def __init__(self, app: ASGIApp) -> None:
        """Wraps `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started: list[Message] = []

        async def send_compressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), _VARY]
                started.append(message)
                return
            if started:
                start = started.pop()
                # The header is parsed for large responses only, because unknown callers may request small ones.
                if _is_compressible(start, message) and (encoding := _encoding(scope)):
                    message = {**message, "body": await _compress(message["body"], encoding)}
                    headers = MutableHeaders(scope=start)
                    headers["Content-Encoding"] = encoding
                    headers["Content-Length"] = str(len(message["body"]))
                await send(start)
            await send(message)

        await self._app(scope, receive, send_compressed)


def _is_compressible(start: Message, message: Message) -> bool:
    is_whole = not message.get("more_body", False)
    return is_whole and len(message.get("body", b"")) >= MIN_BYTES and "content-encoding" not in Headers(scope=start)


async def _compress(body: bytes, encoding: str) -> bytes:
    if len(body) <= MAX_BYTES_ON_LOOP:
        return _ENCODINGS[encoding](body)
    return await asyncio.to_thread(_ENCODINGS[encoding], body)
