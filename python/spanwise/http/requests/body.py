"""Reads request bodies. Limits the size of one body, its time of arrival, and the bytes of all bodies in memory."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from spanwise.errors import DecodeError, PayloadTooLargeError, RequestTimeoutError, UnavailableError
from spanwise.fair_budget import FairBudget

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from spanwise.fair_budget import Lease
    from spanwise.settings import Settings

LINGER_SECONDS = 0.25
LINGER_BYTES = 8 * 1024 * 1024
"""The time and the bytes for reading the rest of an oversized body before it is rejected."""
MAX_LENGTH_DIGITS = 19


class BodyReader:
    """Reads the bodies of one kind of request and counts their bytes while they are in memory."""

    def __init__(self, max_body_bytes: int, max_total_bytes: int, deadline_seconds: float) -> None:
        """Sets the limits.

        Args:
            max_body_bytes: bytes of one body.
            max_total_bytes: bytes of all bodies in memory at once. Each caller has a share.
            deadline_seconds: the time in which one body must arrive.
        """
        self._max_body_bytes = max_body_bytes
        self._bytes = FairBudget(max_total_bytes, "too many bytes of requests at once", max_body_bytes)
        self._deadline_seconds = deadline_seconds
        self._arriving: set[asyncio.Timeout] = set()
        self._is_closed = False

    def close(self) -> None:
        """Rejects all later bodies and those still arriving."""
        self._is_closed = True
        for arriving in self._arriving:
            arriving.reschedule(asyncio.get_running_loop().time())

    @property
    def in_memory(self) -> int:
        """Returns the bytes of all bodies in memory."""
        return self._bytes.used

    @asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """Yields the body of `request`; its bytes count until the block ends.

        Only received bytes count. A client that announces a large body and sends little takes no memory.

        Raises:
            PayloadTooLargeError: the announced or received size of the body is over the limit.
            UnavailableError: the bodies in memory would be over their limit, or the service is shutting down.
            RequestTimeoutError: the body did not arrive in time.
            DecodeError: the body ended before its announced length.
        """
        with self._bytes.hold() as held:
            yield b"".join(await self._read_or_linger(request, held))

    async def _read_or_linger(self, request: Request, held: Lease) -> list[bytes]:
        try:
            self._expect_within_limit(_announced_bytes(request))
            return await self._read_in_time(request, held)
        except PayloadTooLargeError:
            await self._discard(request)
            raise

    async def _read_in_time(self, request: Request, held: Lease) -> list[bytes]:
        try:
            async with asyncio.timeout(0 if self._is_closed else self._deadline_seconds) as arriving:
                self._arriving.add(arriving)
                return await self._read(request, held)
        except TimeoutError as error:
            if self._is_closed:
                raise UnavailableError("the service is shutting down") from error
            raise RequestTimeoutError(f"the body took longer than {self._deadline_seconds:g} s to arrive") from error
        finally:
            self._arriving.discard(arriving)

    async def _read(self, request: Request, held: Lease) -> list[bytes]:
        chunks: list[bytes] = []
        arrived = 0
        more = True
        while more:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise DecodeError("the body ended before its announced length")
            chunk = message.get("body", b"")
            more = message.get("more_body", False)
            arrived += len(chunk)
            self._expect_within_limit(arrived)
            held.add(len(chunk))
            chunks.append(chunk)
        return chunks

    def _expect_within_limit(self, size: int) -> None:
        if size > self._max_body_bytes:
            raise PayloadTooLargeError(f"the body is larger than {self._max_body_bytes} bytes")

    async def _discard(self, request: Request) -> None:
        """Reads a little more of the body. A client cut off while it sends would never see the response."""
        left = max(self._max_body_bytes, LINGER_BYTES)
        if _announced_bytes(request) > self._max_body_bytes + left:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while left > 0:
                    message = await request.receive()
                    left = left - len(message.get("body", b"")) if message.get("more_body", False) else 0


def _announced_bytes(request: Request) -> int:
    """Returns the announced length of a body; 0 without a header.

    Raises:
        DecodeError: the length is malformed. Some servers accept lengths that Python rejects, such as 5,000 digits.
    """
    text = request.headers.get("content-length", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_LENGTH_DIGITS):
        raise DecodeError(f"expected a `Content-Length` of at most {MAX_LENGTH_DIGITS} digits, got `{text:.32}`")
    return int(text)


def body_readers(settings: Settings) -> dict[str, BodyReader]:
    """Returns the readers of request bodies, by the names that routes use."""
    deadline = settings.body_deadline_seconds
    return {
        "search": BodyReader(settings.max_search_body_bytes, settings.search_buffer_bytes, deadline),
        "ingest": BodyReader(settings.max_ingest_body_bytes, settings.ingest_buffer_bytes, deadline),
        "form": BodyReader(settings.max_form_body_bytes, settings.form_buffer_bytes, deadline),
    }
