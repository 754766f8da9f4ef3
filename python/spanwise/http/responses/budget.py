"""The memory budget of responses to slow clients, and the deadline of stalled clients."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from spanwise.fair_budget import FairBudget

if TYPE_CHECKING:
    from starlette.types import Message, Send

    from spanwise.fair_budget import Lease

CHUNK_BYTES = 64 * 1024
PUBLIC_RESPONSE_BYTES = 4 * 1024 * 1024
"""Bytes of public pages that clients have not read yet. The pages themselves are in memory only once."""
PUBLIC_WRITE_SECONDS = 10.0
"""How long a client may read no part of a public page."""

_log = logging.getLogger(__name__)


class ClientStalledError(OSError):
    """The client read no part of its response for too long, so sending stops."""


class ResponseBudget:
    """Limits the bytes of responses in memory, and the time in which a client reads nothing.

    Attributes:
        deadline_seconds: how long a client may read nothing.
    """

    def __init__(self, max_bytes: int, deadline_seconds: float, *, is_shared: bool = False) -> None:
        """Sets the limits.

        Args:
            max_bytes: bytes of all responses being sent. Each caller has a share; a caller over its share gets no
                further requests served.
            deadline_seconds: how long a client may read nothing.
            is_shared: True if all responses send the same bodies, so that each holds only the chunk being sent.
        """
        self._bytes = FairBudget(max_bytes, "too many response bytes are waiting for slow clients")
        self._is_shared = is_shared
        self.deadline_seconds = deadline_seconds

    @property
    def in_memory(self) -> int:
        """Returns the bytes of response bodies being sent."""
        return self._bytes.used

    def admit(self) -> None:
        """Admits one more request of the current caller.

        Raises:
            UnavailableError: too many response bytes are waiting for slow clients.
        """
        self._bytes.expect_available()

    def hold(self) -> Lease:
        """Returns a lease of the current caller, with which it is charged before its response exists."""
        return self._bytes.hold()

    async def send(self, send: Send, message: Message) -> bool:
        """Sends one `http.response.body` message, in chunks if it is large.

        Returns:
            True if the client read it in time.
        """
        body = message.get("body", b"")
        has_more = message.get("more_body", False)
        if not has_more and len(body) <= CHUNK_BYTES:
            await send(message)
            return True
        lease = self._bytes.hold()
        lease.count(min(len(body), CHUNK_BYTES) if self._is_shared else len(body))
        try:
            for start in range(0, max(len(body), 1), CHUNK_BYTES):
                end = start + CHUNK_BYTES
                chunk = {**message, "body": body[start:end], "more_body": has_more or end < len(body)}
                async with asyncio.timeout(self.deadline_seconds):
                    await send(chunk)
        except TimeoutError:
            _log.warning("closed a response: its client read no byte for %g s", self.deadline_seconds)
            return False
        finally:
            lease.release()
        return True
