"""Sending an answer: a large one piece by piece, as its reader takes it, and not for ever.

A server that is handed a whole body keeps it until its reader took it. Here a body waits where it is counted, and at
most one piece of it is with the server.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from spanwise.errors import UnavailableError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PIECE_BYTES = 64 * 1024


class ReaderLeftError(OSError):
    """The reader of an answer took nothing of it for too long; there is nobody to send more to."""


_log = logging.getLogger(__name__)


class Answers:
    """Counts the bytes of answers that are in memory, and bounds how long a reader may take nothing.

    Attributes:
        in_memory: how many there are.
        deadline_seconds: how long a reader may take nothing.
    """

    def __init__(self, together: int, deadline_seconds: float) -> None:
        """Sets the bounds.

        Args:
            together: bytes of all answers that wait for their readers.
            deadline_seconds: how long a reader may take nothing.
        """
        self._together = together
        self.deadline_seconds = deadline_seconds
        self.in_memory = 0

    def admit(self) -> None:
        """Refuses to make one more answer while too many wait.

        Raises:
            UnavailableError: too many bytes wait for their readers.
        """
        if self.in_memory > self._together:
            raise UnavailableError("too many bytes of answers wait for their readers")

    async def send(self, send: Send, message: Message) -> bool:
        """Sends one part of an answer. Returns whether its reader took it in time."""
        body = message.get("body", b"")
        has_more = message.get("more_body", False)
        if not has_more and len(body) <= PIECE_BYTES:
            await send(message)
            return True
        self.in_memory += len(body)
        try:
            for start in range(0, max(len(body), 1), PIECE_BYTES):
                end = start + PIECE_BYTES
                piece = {**message, "body": body[start:end], "more_body": has_more or end < len(body)}
                async with asyncio.timeout(self.deadline_seconds):
                    await send(piece)
        except TimeoutError:
            _log.warning("an answer was given up: its reader took nothing for %g s", self.deadline_seconds)
            return False
        finally:
            self.in_memory -= len(body)
        return True


class Pieces:
    """Sends the answers of an application through `Answers`. After a part that was given up nothing more is sent."""

    def __init__(self, app: ASGIApp, answers: Answers) -> None:
        """Wraps `app`."""
        self._app = app
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_read = True

        async def send_in_pieces(message: Message) -> None:
            nonlocal is_read
            if message["type"] != "http.response.body":
                await send(message)
            elif is_read:
                is_read = await self._answers.send(send, message)
            elif message.get("more_body"):
                raise ReaderLeftError

        await self._app(scope, receive, send_in_pieces)
