"""Limits on open WebSockets, in total and per user, and their shutdown with the service."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Protocol

from spanwise.errors import UnavailableError
from spanwise.http.websocket.protocol import CLOSE_SECONDS, DRAIN_SECONDS, GOING_AWAY


class LimitedSocket(Protocol):
    """What the limits know of an open socket."""

    @property
    def user_id(self) -> str | None:
        """The user that it counts for."""

    def drain(self) -> None:
        """Ends the socket when the runs that it follows have ended."""

    def end(self, code: int, reason: str) -> None:
        """Ends the socket now."""


class SocketLimits:
    """Limits how many sockets are open at once, in total and per user."""

    def __init__(self, max_open: int, max_open_per_user: int) -> None:
        """Sets the limits.

        Args:
            max_open: sockets that may be open.
            max_open_per_user: sockets of one user that may be open.
        """
        self._max_open = max_open
        self._max_open_per_user = max_open_per_user
        self._per_user: Counter[str] = Counter()
        self._sockets: set[LimitedSocket] = set()
        self._is_draining = False
        self._has_left = asyncio.Event()

    @property
    def open(self) -> int:
        """Returns how many sockets are open."""
        return len(self._sockets)

    def enter(self, socket: LimitedSocket) -> None:
        """Counts one more socket.

        Raises:
            UnavailableError: too many sockets are open, or the service is shutting down.
        """
        if self._is_draining:
            raise UnavailableError("the service is shutting down")
        if self.open >= self._max_open:
            raise UnavailableError(f"more than {self._max_open} sockets at once")
        self._sockets.add(socket)

    def assign(self, user_id: str | None, previous: str | None) -> None:
        """Counts a socket for a user.

        Args:
            user_id: the user; None if it has none.
            previous: the user that the socket counted for before.

        Raises:
            UnavailableError: too many sockets of this user are open.
        """
        if user_id == previous:
            return
        if user_id is not None and self._per_user[user_id] >= self._max_open_per_user:
            raise UnavailableError(f"more than {self._max_open_per_user} sockets of one user at once")
        if user_id is not None:
            self._per_user[user_id] += 1
        self._release(previous)

    def leave(self, socket: LimitedSocket) -> None:
        """Counts one socket less."""
        self._sockets.discard(socket)
        self._has_left.set()
        self._release(socket.user_id)

    def _release(self, user_id: str | None) -> None:
        if user_id is not None:
            self._per_user[user_id] -= 1
            self._per_user += Counter()  # drops users whose count is zero

    async def drain(self) -> None:
        """Accepts no more sockets, and ends each open one when its runs have ended, or after `DRAIN_SECONDS`."""
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
