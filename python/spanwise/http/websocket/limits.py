"""Limits open WebSockets, separately for known and unknown callers, and closes them at shutdown."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from spanwise.auth.processor_budget import ProcessorBudget
from spanwise.errors import UnavailableError
from spanwise.fair_budget import FairBudget
from spanwise.http.websocket.protocol import (
    CLOSE_SECONDS,
    DRAIN_SECONDS,
    GOING_AWAY,
    KNOWN_PROCESSOR_SHARE,
    MAX_MESSAGE_BYTES,
    MAX_MESSAGES_PER_SECOND,
    MAX_UNKNOWN_SOCKETS,
    TRY_AGAIN_LATER,
)

if TYPE_CHECKING:
    from spanwise.fair_budget import Lease


class LimitedSocket(Protocol):
    """The part of an open socket that the limits use."""

    @property
    def address(self) -> str:
        """The address of the client."""

    def drain(self) -> None:
        """Ends the socket after the runs that it follows."""

    def end(self, code: int, reason: str) -> None:
        """Ends the socket now."""


class SocketLimits:
    """Limits the number of open sockets.

    Sockets of known callers hold slots that are divided among callers. Sockets of unknown callers have a small limit of
    their own. A socket over that limit replaces the oldest one of the address with the most unknown sockets.

    Attributes:
        buffered_bytes: divides the bytes of messages in memory among callers.
        processor: divides the processor time for frames and messages among known callers.
    """

    def __init__(self, max_open: int, max_open_per_user: int, max_buffered_bytes: int) -> None:
        """Sets the limits.

        Args:
            max_open: open sockets of known callers.
            max_open_per_user: open sockets of one verified user.
            max_buffered_bytes: bytes of messages of known callers in memory.
        """
        self._max_open_per_user = max_open_per_user
        self._slots = FairBudget(max_open, f"more than {max_open} sockets at once")
        self.buffered_bytes = FairBudget(max_buffered_bytes, "too many bytes of messages at once", MAX_MESSAGE_BYTES)
        self.processor = ProcessorBudget(KNOWN_PROCESSOR_SHARE, message="too many frames at once")
        self._per_user: Counter[str] = Counter()
        self._sockets: set[LimitedSocket] = set()
        self._unknown: dict[LimitedSocket, None] = {}
        self._is_draining = False
        self._has_left = asyncio.Event()

    @property
    def open(self) -> int:
        """Returns the number of open sockets."""
        return len(self._sockets)

    @property
    def unknown(self) -> int:
        """Returns the number of open sockets of unknown callers."""
        return len(self._unknown)

    def expect_open(self) -> None:
        """Checks that sockets are accepted.

        Raises:
            UnavailableError: the service is shutting down.
        """
        if self._is_draining:
            raise UnavailableError("the service is shutting down")

    def enter(self, socket: LimitedSocket) -> None:
        """Adds a socket whose caller is unknown. This may end an older one.

        Raises:
            UnavailableError: the service is shutting down.
        """
        self.expect_open()
        self._sockets.add(socket)
        self.forget(socket)

    def forget(self, socket: LimitedSocket) -> None:
        """Counts a socket as one of an unknown caller. This may end an older one."""
        self._unknown[socket] = None
        if len(self._unknown) > MAX_UNKNOWN_SOCKETS:
            ((most, _),) = Counter(each.address for each in self._unknown).most_common(1)
            oldest = next(each for each in self._unknown if each.address == most)
            del self._unknown[oldest]
            oldest.end(TRY_AGAIN_LATER, f"more than {MAX_UNKNOWN_SOCKETS} sockets without authentication")

    def take_slot(self, user_id: str | None) -> SocketSlot:
        """Returns a slot for a socket of the current caller.

        Args:
            user_id: the verified user; None if the caller is not verified.

        Raises:
            UnavailableError: too many sockets are open, in total or of this caller.
        """
        if user_id is not None and self._per_user[user_id] >= self._max_open_per_user:
            raise UnavailableError(f"more than {self._max_open_per_user} sockets of one user at once")
        slot = SocketSlot(self._slots.take(), self._per_user, user_id)
        if user_id is not None:
            self._per_user[user_id] += 1
        return slot

    def recognize(self, socket: LimitedSocket) -> None:
        """Stops counting a socket as one of an unknown caller, because it has a slot."""
        self._unknown.pop(socket, None)

    def leave(self, socket: LimitedSocket) -> None:
        """Removes a socket."""
        self._sockets.discard(socket)
        self._unknown.pop(socket, None)
        self._has_left.set()

    async def drain(self) -> None:
        """Stops accepting sockets, and ends each open one after its runs or after `DRAIN_SECONDS`."""
        self._is_draining = True
        for socket in list(self._sockets):
            socket.drain()
        await self._wait_until_empty(DRAIN_SECONDS)
        for socket in list(self._sockets):
            socket.end(GOING_AWAY, "the service is shutting down")
        await self._wait_until_empty(CLOSE_SECONDS)

    async def _wait_until_empty(self, timeout_seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                while self._sockets:
                    self._has_left.clear()
                    await self._has_left.wait()


class MessageRate:
    """Counts the messages of one socket in each second."""

    def __init__(self) -> None:
        """Starts before the first message."""
        self._second_started_at, self._in_second = 0.0, 0

    def is_exceeded(self, now: float) -> bool:
        """Counts one message; returns True if this second has more than `MAX_MESSAGES_PER_SECOND`.

        Args:
            now: monotonic time in seconds.
        """
        if now - self._second_started_at >= 1:
            self._second_started_at, self._in_second = now, 0
        self._in_second += 1
        return self._in_second > MAX_MESSAGES_PER_SECOND


class SocketSlot:
    """The slot of one socket among the sockets of known callers."""

    def __init__(self, lease: Lease, per_user: Counter[str], user_id: str | None) -> None:
        """Holds a slot that is already counted."""
        self._lease = lease
        self._per_user = per_user
        self._user_id = user_id

    def release(self) -> None:
        """Releases the slot. Call it once."""
        self._lease.release()
        if self._user_id is not None:
            self._per_user[self._user_id] -= 1
            if not self._per_user[self._user_id]:
                del self._per_user[self._user_id]
