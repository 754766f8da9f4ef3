"""Streams server-sent events, such as the events of a run, with heartbeats in between.

See `docs/reference/api-runs.md#server-sent-events` and the HTML Living Standard, "Server-sent events".
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING

from starlette.responses import StreamingResponse

from spanwise.components import Kind
from spanwise.components.events import is_text_chunk, status_after
from spanwise.errors import BadRequestError
from spanwise.fair_budget import FairBudget
from spanwise.http.requests.media_types import EVENT_STREAM
from spanwise.http.responses.budget import ClientStalledError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable
    from types import TracebackType
    from typing import Self

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from spanwise.fair_budget import Lease
    from spanwise.runs import RunEvent

HEARTBEAT_SECONDS = 15.0
HEARTBEAT = b": heartbeat\n\n"

_log = logging.getLogger(__name__)


class StreamLimit:
    """Limits the number of open event streams, and divides the slots among callers."""

    def __init__(self, max_open: int) -> None:
        """Sets the maximum number of open streams."""
        self._slots = FairBudget(max_open, f"more than {max_open} streams at once")

    @property
    def open(self) -> int:
        """Returns the number of open streams."""
        return self._slots.used

    def acquire(self) -> StreamSlot:
        """Returns the slot of one more stream. Acquire it before starting the run.

        Raises:
            UnavailableError: all slots are taken, or the caller's share is used up.
        """
        return StreamSlot(self._slots.take())


class StreamSlot:
    """The slot of one stream. It is released after the response, or at the end of its block without a response."""

    def __init__(self, slot: Lease) -> None:
        """Takes a slot that is already counted."""
        self._slot = slot
        self._has_response = False

    def __enter__(self) -> Self:
        """Begins the block."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Releases the slot, unless a response holds it."""
        if not self._has_response:
            self.release()

    def release(self) -> None:
        """Releases the slot."""
        self._slot.release()

    def respond(
        self, entries: AsyncGenerator[RunEvent, None], headers: dict[str, str] | None = None
    ) -> StreamingResponse:
        """Returns a response that sends `entries` as they arrive.

        A client that disconnects ends the stream, not the run.
        """
        self._has_response = True
        return EventStreamResponse(_frames(entries), self.release, headers)


class EventStreamResponse(StreamingResponse):
    """Sends events as they arrive, and a comment after every 15 s without an event. Releases its slot at the end."""

    def __init__(
        self,
        frames: AsyncGenerator[bytes, None],
        release: Callable[[], None],
        headers: dict[str, str] | None = None,
    ) -> None:
        """Prepares to send.

        Args:
            frames: events in their wire format, one or several at once. The generator is closed when the response ends.
            release: called when the response ends, even after an error.
            headers: further headers.
        """
        # Without this header, nginx buffers events before it passes them on.
        sent = {"X-Accel-Buffering": "no"} | (headers or {})
        super().__init__(_with_heartbeats(frames), media_type=f"{EVENT_STREAM}; charset=utf-8", headers=sent)
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response."""
        try:
            await super().__call__(scope, receive, send)
        except ClientStalledError:
            _log.info("closed a stream: its client stopped reading")
        finally:
            self._release()


async def _frames(entries: AsyncGenerator[RunEvent, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(entries):
        async for entry in entries:
            yield frame(entry)


async def _with_heartbeats(frames: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(frames):
        coming = asyncio.ensure_future(anext(frames, None))
        try:
            while True:
                await asyncio.wait([coming], timeout=HEARTBEAT_SECONDS)
                if not coming.done():
                    yield HEARTBEAT
                    continue
                sent = coming.result()
                if sent is None:
                    return
                yield sent
                coming = asyncio.ensure_future(anext(frames, None))
        finally:
            if coming.cancel():
                await asyncio.wait([coming])


async def content_only(entries: AsyncGenerator[RunEvent, None], kind: Kind) -> AsyncGenerator[RunEvent, None]:
    """Yields the content events of a run. The last event is added if the run did not complete, or is of a workflow."""
    async with aclosing(entries):
        async for entry in entries:
            status = status_after(kind, entry.name)
            is_needed_end = status is not None and (status != "COMPLETED" or kind is Kind.WORKFLOW)
            if is_text_chunk(entry.name) or is_needed_end:
                yield entry


def frame(entry: RunEvent) -> bytes:
    """Returns one event in its wire format. Its JSON has no line break, so its content cannot end the event early."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (entry.index, entry.name.encode(), entry.body)


def last_event_index(request: Request, given: str | None) -> int:
    """Returns the index of the last event that the client has, or -1.

    Args:
        request: its `Last-Event-ID` header takes precedence.
        given: the field of the form.

    Raises:
        BadRequestError: the text is not an index.
    """
    text = request.headers.get("last-event-id") or given
    if not text:
        return -1
    if not text.isascii() or not text.removeprefix("-").isdigit() or len(text) > len(str(2**53)):
        raise BadRequestError(f"expected the index of an event, got `{text[:32]}`")
    return max(int(text), -1)
