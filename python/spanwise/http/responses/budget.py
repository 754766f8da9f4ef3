"""The memory budget of responses that wait for slow clients, and the deadline for a client that reads nothing."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from spanwise.errors import UnavailableError

if TYPE_CHECKING:
    from starlette.types import Message, Send

CHUNK_BYTES = 64 * 1024

_log = logging.getLogger(__name__)


class ClientStalledError(OSError):
    """The client read nothing of its response for too long, so nothing more is sent to it."""


class ResponseBudget:
    """Bounds the bytes of responses in memory and how long a client may read nothing.

    Attributes:
        in_memory: bytes of response bodies that are being sent.
        deadline_seconds: how long a client may read nothing.
    """

    def __init__(self, max_bytes: int, deadline_seconds: float) -> None:
        """Sets the bounds.

        Args:
            max_bytes: bytes of all responses being sent, above which no further request is served.
            deadline_seconds: how long a client may read nothing.
        """
        self._max_bytes = max_bytes
        self.deadline_seconds = deadline_seconds
        self.in_memory = 0

    def admit(self) -> None:
        """Admits one more request.

        Raises:
            UnavailableError: too many response bytes are waiting for slow clients.
        """
        if self.in_memory > self._max_bytes:
            raise UnavailableError("too many response bytes are waiting for slow clients")

    async def send(self, send: Send, message: Message) -> bool:
        """Sends one `http.response.body` message, in chunks if it is large.

        Returns:
            Whether the client read it in time.
        """
        body = message.get("body", b"")
        has_more = message.get("more_body", False)
        if not has_more and len(body) <= CHUNK_BYTES:
            await send(message)
            return True
        self.in_memory += len(body)
        try:
            for start in range(0, max(len(body), 1), CHUNK_BYTES):
                end = start + CHUNK_BYTES
                chunk = {**message, "body": body[start:end], "more_body": has_more or end < len(body)}
                async with asyncio.timeout(self.deadline_seconds):
                    await send(chunk)
        except TimeoutError:
            _log.warning("a response was abandoned: its client read nothing for %g s", self.deadline_seconds)
            return False
        finally:
            self.in_memory -= len(body)
        return True
