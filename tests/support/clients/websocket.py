"""A WebSocket client of a running service."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from websockets.sync.client import ClientConnection

    from support.services.process import RunningService

TERMINAL_EVENTS = {"WorkflowCompleted", "WorkflowError", "WorkflowCancelled", "WorkflowPaused", "error"}


class WebSocketClient:
    """One open WebSocket. Keep-alive pings of the service are skipped."""

    def __init__(self, connection: ClientConnection) -> None:
        """Wraps a connection and receives its first message."""
        self.connection = connection
        self.greeting = self.receive()

    def receive(self, seconds: float = 20) -> dict[str, Any]:
        """Returns the next message that is not a ping."""
        while True:
            message: dict[str, Any] = json.loads(self.connection.recv(timeout=seconds))
            if message["event"] != "ping":
                return message

    def send(self, action: str, **members: object) -> None:
        self.connection.send(json.dumps({"action": action, **members}))

    def request(self, action: str, **members: object) -> dict[str, Any]:
        """Sends an action and returns the next message."""
        self.send(action, **members)
        return self.receive()

    def run(self, action: str = "start-workflow", **members: object) -> list[dict[str, Any]]:
        """Starts a run and returns the messages until it ends, pauses or is rejected."""
        self.send(action, **members)
        return self.receive_until_end()

    def receive_until_end(self) -> list[dict[str, Any]]:
        """Returns the messages until a run ends, pauses or is rejected."""
        found = [self.receive()]
        while found[-1]["event"] not in TERMINAL_EVENTS or "parent_run_id" in found[-1]:
            found.append(self.receive())
        return found

    def close_code(self) -> int:
        """Waits until the service closes the socket and returns the close code. Skips earlier messages."""
        try:
            while True:
                self.connection.recv(timeout=90)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006


@contextmanager
def open_websocket(
    service: RunningService,
    path: str = "/workflows/ws",
    headers: Mapping[str, str] | None = None,
    origin: str | None = None,
) -> Iterator[WebSocketClient]:
    """Opens a WebSocket and closes it at the end of the block.

    Raises:
        InvalidStatus: the service rejected the handshake.
    """
    url = service.url.replace("http", "ws") + path
    with connect(
        url,
        additional_headers=headers,
        origin=origin,  # type: ignore[arg-type]  # `Origin` is a `NewType` of `str`
        compression=None,
        max_size=None,
        close_timeout=5,
        proxy=None,
    ) as connection:
        yield WebSocketClient(connection)
