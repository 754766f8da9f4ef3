"""Events of a run as server-sent events, with a heartbeat while nothing happens.

Source: design, section 10; HTML Living Standard, "Server-sent events".
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

from spanwise.components import Kind
from spanwise.errors import BadRequestError, UnavailableError
from spanwise.http.middleware.chunked_send import ReaderLeftError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from types import TracebackType
    from typing import Self

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from spanwise.runs import RunEvent

HEARTBEAT_SECONDS = 15.0
HEARTBEAT = b": heartbeat\n\n"
_ENDINGS = {
    Kind.AGENT: {"RunError", "RunCancelled", "RunPaused"},
    Kind.TEAM: {"TeamRunError", "TeamRunCancelled", "TeamRunPaused"},
    Kind.WORKFLOW: {"WorkflowCompleted", "WorkflowError", "WorkflowCancelled", "WorkflowPaused"},
}


_log = logging.getLogger(__name__)


class Streams:
    """Counts the streams that are open, so that they stay bounded."""

    def __init__(self, most: int) -> None:
        """Begins with none; `most` may be open."""
        self._most = most
        self.open = 0

    def place(self) -> Place:
        """Returns the place of one more stream, taken before anything is begun for it.

        Raises:
            UnavailableError: all are taken.
        """
        if self.open >= self._most:
            raise UnavailableError(f"more than {self._most} streams at once")
        self.open += 1
        return Place(self)


class Place:
    """The place of one stream. It is free again when its answer was sent, or at the end of its block without one."""

    def __init__(self, streams: Streams) -> None:
        """Takes a place that was counted."""
        self._streams = streams
        self._is_answered = False

    def __enter__(self) -> Self:
        """Begins the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leaves the place, unless an answer has it."""
        if not self._is_answered:
            self.leave()

    def leave(self) -> None:
        """Frees the place."""
        self._streams.open -= 1

    def answer(
        self, entries: AsyncGenerator[RunEvent, None], headers: dict[str, str] | None = None
    ) -> StreamingResponse:
        """Returns the answer that sends `entries` as they come. Whoever leaves ends the stream, not the run."""
        self._is_answered = True
        return _EventStream(entries, headers or {}, self)


class _EventStream(StreamingResponse):
    """An answer that leaves its place, however it ends."""

    def __init__(self, entries: AsyncGenerator[RunEvent, None], headers: dict[str, str], place: Place) -> None:
        super().__init__(_frames(entries), media_type="text/event-stream; charset=utf-8", headers=headers)
        self._place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except ReaderLeftError:
            _log.info("a stream ended before its run: nobody read it")
        finally:
            self._place.leave()


async def _frames(entries: AsyncGenerator[RunEvent, None]) -> AsyncIterator[bytes]:
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


async def pieces(entries: AsyncGenerator[RunEvent, None], kind: Kind) -> AsyncGenerator[RunEvent, None]:
    """Gives the pieces of an answer, and what ends a run that did not just complete; a workflow's end, however."""
    async with aclosing(entries):
        async for entry in entries:
            if entry.name.endswith("RunContent") or entry.name in _ENDINGS[kind]:
                yield entry


def frame(entry: RunEvent) -> bytes:
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
