"""Limits the connections of an HTTP/2 server, separately for known and unknown callers."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Protocol

from spanwise.auth.processor_budget import ProcessorMeter
from spanwise.http.requests.caller import address_key

if TYPE_CHECKING:
    from spanwise.auth.processor_budget import ProcessorBudget

BACKLOG = 4096
"""Connections that may wait to be accepted. A client over the limit must retry, which takes its system seconds."""
MAX_UNKNOWN_CONNECTIONS = 256
"""Connections without an authorized request; with authorization off, connections without any request."""
MAX_STREAMS = 100
"""Concurrent requests of one connection."""
UNKNOWN_WINDOW_BYTES = 64 * 1024 - 1
"""Body bytes that a connection may send before one of its requests is authorized."""
MAX_FRAME_BYTES = 64 * 1024
"""The frame size limit. Every frame costs the event loop about the same, regardless of size."""
STREAM_WINDOW_BYTES = 1024 * 1024
CONNECTION_WINDOW_BYTES = 4 * 1024 * 1024
"""Body bytes in flight, of one authorized request and of a whole connection."""
IDLE_SECONDS = 300
"""The minimum time that an idle connection stays open. The maximum is twice as long."""
CLOSE_SECONDS = 1
"""The time in which a client may read why its connection closes."""


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
