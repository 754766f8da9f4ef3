"""WebSockets of a running service, as a client holds them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from websockets.sync.client import ClientConnection

    from support.service import Running

ENDS = {"WorkflowCompleted", "WorkflowError", "WorkflowCancelled", "WorkflowPaused", "error"}


class Socket:
    """One socket. What the service says to keep it alive is left out."""

    def __init__(self, connection: ClientConnection) -> None:
        """Takes a connection, and what the service says first."""
        self.connection = connection
        self.greeting = self.heard()

    def heard(self, seconds: float = 20) -> dict[str, Any]:
        """Returns the next message."""
        while True:
            message: dict[str, Any] = json.loads(self.connection.recv(timeout=seconds))
            if message["event"] != "ping":
                return message

    def say(self, action: str, **members: object) -> None:
        """Asks for something."""
        self.connection.send(json.dumps({"action": action, **members}))

    def ask(self, action: str, **members: object) -> dict[str, Any]:
        """Returns the next message after asking for something."""
        self.say(action, **members)
        return self.heard()

    def run(self, action: str = "start-workflow", **members: object) -> list[dict[str, Any]]:
        """Returns the messages until a run ends or pauses, or is refused."""
        self.say(action, **members)
        return self.until_end()

    def until_end(self) -> list[dict[str, Any]]:
        """Returns the messages until a run ends or pauses."""
        found = [self.heard()]
        while found[-1]["event"] not in ENDS or "parent_run_id" in found[-1]:
            found.append(self.heard())
        return found

    def close_code(self) -> int:
        """Returns the code that the service closes the socket with; what it says before is not read."""
        try:
            while True:
                self.connection.recv(timeout=90)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else 1006


@contextmanager
def opened(
    service: Running, path: str = "/workflows/ws", headers: Mapping[str, str] | None = None, origin: str | None = None
) -> Iterator[Socket]:
    """Gives an open socket.

    Raises:
        InvalidStatus: the service refused the handshake.
    """
    url = service.url.replace("http", "ws") + path
    with connect(
        url,
        additional_headers=headers,
        origin=origin,  # type: ignore[arg-type]  # a text that says it is one
        compression=None,
        max_size=None,
        close_timeout=5,
        proxy=None,
    ) as connection:
        yield Socket(connection)
