"""Events of a run as server-sent events, with a heartbeat while nothing happens.

Source: design, section 10; HTML Living Standard, "Server-sent events".
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

from spanwise.errors import BadRequestError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from starlette.requests import Request

    from spanwise.runs import Entry

HEARTBEAT_SECONDS = 15.0
HEARTBEAT = b": heartbeat\n\n"
MOST_STREAMS = 512


class Streams:
    """Counts the streams that are open, so that they stay bounded."""

    def __init__(self, most: int = MOST_STREAMS) -> None:
        """Begins with none."""
        self._most = most
        self.open = 0

    def answer(self, entries: AsyncGenerator[Entry, None], headers: dict[str, str]) -> StreamingResponse:
        """Returns the answer that sends `entries` as they come. Whoever leaves ends the stream, not the run."""
        return StreamingResponse(self._frames(entries), media_type="text/event-stream; charset=utf-8", headers=headers)

    def admit(self) -> None:
        """Refuses one stream too many, before anything is begun for it.

        Raises:
            UnavailableError: all are taken.
        """
        if self.open >= self._most:
            raise UnavailableError(f"more than {self._most} streams at once")

    async def _frames(self, entries: AsyncGenerator[Entry, None]) -> AsyncIterator[bytes]:
        self.open += 1
        try:
            async with aclosing(entries):
                coming = asyncio.ensure_future(anext(entries, None))
                try:
                    while True:
                        await asyncio.wait([coming], timeout=HEARTBEAT_SECONDS)
                        if not coming.done():
                            yield HEARTBEAT
                            continue
                        entry = coming.result()
                        if entry is None:
                            return
                        yield frame(entry)
                        coming = asyncio.ensure_future(anext(entries, None))
                finally:
                    if coming.cancel():
                        await asyncio.wait([coming])
        finally:
            self.open -= 1


def frame(entry: Entry) -> bytes:
    """Returns one event as it is sent. Its JSON has no line end, so nothing in it can end the event."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (entry.index, entry.name.encode(), entry.body)


def last_index(request: Request, given: str | None) -> int:
    """Returns the index of the last event that the caller has: the header `Last-Event-ID`, else the form; else -1.

    Raises:
        BadRequestError: it is no index.
    """
    text = request.headers.get("last-event-id") or given
    if not text:
        return -1
    if not text.isascii() or not text.removeprefix("-").isdigit() or len(text) > len(str(2**53)):
        raise BadRequestError(f"expected the index of an event, got `{text[:32]}`")
    return max(int(text), -1)
