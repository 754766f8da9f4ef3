"""Reading a request's body: how much, how long, and how much of all bodies together."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from spanwise.errors import DecodeError, PayloadTooLargeError, RequestTimeoutError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

LINGER_SECONDS = 0.04
"""For how long more of a body that is too large is taken in, before it is refused."""


class BodyReader:
    """Reads the bodies of one kind of request, and counts those that are in memory."""

    def __init__(self, limit: int, together: int, deadline_seconds: float) -> None:
        """Sets the bounds.

        Args:
            limit: bytes of one body.
            together: bytes of all bodies that are in memory at once.
            deadline_seconds: how long one body may take to arrive.
        """
        self._limit = limit
        self._together = self._room = together
        self._deadline_seconds = deadline_seconds

    @property
    def in_memory(self) -> int:
        """Returns how many bytes of bodies are in memory."""
        return self._together - self._room

    @asynccontextmanager
    async def body(self, request: Request) -> AsyncIterator[bytes]:
        """Gives the body of `request`; its bytes count until the block ends.

        Only bytes that arrived are counted, so a caller that announces much and sends little takes no room.

        Raises:
            PayloadTooLargeError: the body is over its limit, as announced or as it arrives.
            UnavailableError: all bodies together would be over theirs.
            RequestTimeoutError: it did not arrive in time.
            DecodeError: it ended before its announced length.
        """
        self._check(int(request.headers.get("content-length", "0")))
        chunks: list[bytes] = []
        try:
            await self._read_or_linger(request, chunks)
            yield b"".join(chunks)
        finally:
            self._room += sum(map(len, chunks))

    async def _read_or_linger(self, request: Request, chunks: list[bytes]) -> None:
        try:
            await self._read_in_time(request, chunks)
        except PayloadTooLargeError:
            await _discard(request)
            raise

    async def _read_in_time(self, request: Request, chunks: list[bytes]) -> None:
        try:
            async with asyncio.timeout(self._deadline_seconds):
                await self._read(request, chunks)
        except TimeoutError as error:
            raise RequestTimeoutError(f"the body took longer than {self._deadline_seconds:g} s to arrive") from error

    async def _read(self, request: Request, chunks: list[bytes]) -> None:
        arrived = 0
        more = True
        while more:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise DecodeError("the body ended before its announced length")
            chunk = message.get("body", b"")
            more = message.get("more_body", False)
            arrived += len(chunk)
            self._check(arrived)
            if len(chunk) > self._room:
                raise UnavailableError("too many bytes of requests at once")
            self._room -= len(chunk)
            chunks.append(chunk)

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise PayloadTooLargeError(f"the body is larger than {self._limit} bytes")


async def _discard(request: Request) -> None:
    """Reads on for a moment: a connection that is closed while its client still sends may lose our answer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            more = True
            while more:
                more = (await request.receive()).get("more_body", False)
