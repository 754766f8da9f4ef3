"""Limits the connections of an HTTP/2 server, separately for known and unknown callers."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from spanwise.auth.processor_budget import ProcessorMeter
from spanwise.http.requests.caller import address_key

if TYPE_CHECKING:
    from spanwise.auth.processor_budget import ProcessorBudget

MAX_UNKNOWN_CONNECTIONS = 256
"""Connections on which no request was authorized yet: with authorization off, those on which none was made."""
MAX_STREAMS = 100
"""Requests of one connection at once."""
UNKNOWN_WINDOW_BYTES = 64 * 1024 - 1
"""Bytes of bodies that a connection may send before a request of it was authorized."""
MAX_FRAME_BYTES = 64 * 1024
"""The largest frame; each costs the event loop about the same."""
STREAM_WINDOW_BYTES = 1024 * 1024
CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024
"""Bytes of bodies that may be under way in one authorized request, and in all of a connection."""
IDLE_SECONDS = 300
"""How long a connection without requests is kept, at least; at most twice as long."""
CLOSE_SECONDS = 1
"""How long a client may take to read why its connection is closed."""


class LimitedConnection(Protocol):
    """The part of a connection that the limits use."""

    @property
    def address(self) -> str:
        """The address of the client."""

    def end(self, reason: str) -> None:
        """Closes the connection."""

    def drain(self) -> None:
        """Closes the connection after the responses in progress."""


class ConnectionLimits:
    """Limits the number of open connections, and the processor time of unknown callers.

    A connection over the limit replaces one without an authorized request: the oldest of the address with the most such
    connections. If every other connection is authorized, the new one is closed.
    """

    def __init__(self, max_open: int, unknown_callers: ProcessorBudget) -> None:
        """Sets the connection limit and the processor budget of unknown callers."""
        self._max_open = max_open
        self._unknown_callers = unknown_callers
        self._unknown: dict[LimitedConnection, None] = {}
        self._open: dict[LimitedConnection, None] = {}
        self._has_left = asyncio.Event()

    @property
    def open(self) -> tuple[LimitedConnection, ...]:
        """Returns the open connections."""
        return tuple(self._open)

    @property
    def unknown(self) -> int:
        """Returns the number of connections of unknown callers."""
        return len(self._unknown)

    def meter(self, connection: LimitedConnection) -> ProcessorMeter:
        """Returns the meter of the work for a connection while its caller is unknown."""
        return ProcessorMeter(self._unknown_callers, address_key(connection.address))

    def enter(self, connection: LimitedConnection) -> None:
        """Adds a connection whose caller is unknown. This may end an older connection, or this one."""
        self._open[connection] = None
        self._unknown[connection] = None
        if len(self._unknown) > MAX_UNKNOWN_CONNECTIONS or len(self._open) > self._max_open:
            ((most, _),) = Counter(each.address for each in self._unknown).most_common(1)
            oldest = next(each for each in self._unknown if each.address == most)
            self.leave(oldest)
            oldest.end("too many connections")

    def recognize(self, connection: LimitedConnection) -> None:
        """Stops counting a connection as one of an unknown caller."""
        self._unknown.pop(connection, None)

    def leave(self, connection: LimitedConnection) -> None:
        """Removes a connection."""
        self._open.pop(connection, None)
        self._unknown.pop(connection, None)
        self._has_left.set()

    async def wait_until_none(self) -> None:
        """Waits until all connections are closed."""
        while self._open:
            self._has_left.clear()
            await self._has_left.wait()
