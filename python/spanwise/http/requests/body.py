"""Reading a request's body: how much, how long, and how much of all bodies together."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from spanwise.errors import DecodeError, PayloadTooLargeError, RequestTimeoutError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

LINGER_SECONDS = 0.25
LINGER_BYTES = 8 * 1024 * 1024
"""For how long, and up to how much, the rest of a body that is too large is read, before it is refused."""


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
        self._arriving: set[asyncio.Timeout] = set()
        self._is_closed = False

    def close(self) -> None:
        """Refuses the bodies that did not arrive yet, and those that begin to."""
        self._is_closed = True
        for arriving in self._arriving:
            arriving.reschedule(asyncio.get_running_loop().time())

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
            UnavailableError: all bodies together would be over theirs, or the service is shutting down.
            RequestTimeoutError: it did not arrive in time.
            DecodeError: it ended before its announced length.
        """
        chunks: list[bytes] = []
        try:
            await self._read_or_linger(request, chunks)
            chunks = [b"".join(chunks)]
            yield chunks[0]
        finally:
            self._room += sum(map(len, chunks))

    async def _read_or_linger(self, request: Request, chunks: list[bytes]) -> None:
        try:
            self._check(int(request.headers.get("content-length", "0")))
            await self._read_in_time(request, chunks)
        except PayloadTooLargeError:
            await self._discard(request)
            raise

    async def _read_in_time(self, request: Request, chunks: list[bytes]) -> None:
        try:
            async with asyncio.timeout(0 if self._is_closed else self._deadline_seconds) as arriving:
                self._arriving.add(arriving)
                await self._read(request, chunks)
        except TimeoutError as error:
            if self._is_closed:
                raise UnavailableError("the service is shutting down") from error
            raise RequestTimeoutError(f"the body took longer than {self._deadline_seconds:g} s to arrive") from error
        finally:
            self._arriving.discard(arriving)

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

    async def _discard(self, request: Request) -> None:
        """Reads on for a moment: a connection that is closed while its client still sends loses our answer."""
        left = max(self._limit, LINGER_BYTES)
        if int(request.headers.get("content-length", "0")) > self._limit + left:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while left > 0:
                    message = await request.receive()
                    left = left - len(message.get("body", b"")) if message.get("more_body", False) else 0
