"""A real `spanwise serve` on the loopback, in a process of its own, and connections to it that stay open."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, NamedTuple, Self

from spanwise.bench.faults import ServerError

if TYPE_CHECKING:
    from pathlib import Path

HOST = "127.0.0.1"
_START_SECONDS = 120
_END_SECONDS = 60
_SECONDS_BETWEEN = 0.002
_OK = 200


class Reply(NamedTuple):
    """What came back: the status, the body, and after how many seconds to try again, if it says so."""

    status: int
    body: bytes
    retry_after: float


class Server:
    """A service over one data folder. Always leave it by `with`.

    Attributes:
        port: where it listens.
        process: its process.
        ready_seconds: from its start until it said that it is ready.
    """

    def __init__(self, data_dir: Path) -> None:
        """Starts the service; its log goes beside the folder.

        Raises:
            ServerError: it ended, or was not ready in time.
        """
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port: int = probe.getsockname()[1]
        self._log = data_dir.with_suffix(".log")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPANWISE_", "JWT_"))}
        command = [sys.executable, "-m", "spanwise", "serve", "--data-dir", str(data_dir), "--port", str(self.port)]
        begun = time.perf_counter()
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)  # noqa: S603  # our own
        try:
            self._wait_until_ready()
        except BaseException:
            self._kill()
            raise
        self.ready_seconds = time.perf_counter() - begun

    def __enter__(self) -> Self:
        """Returns the service, which is ready."""
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the service as an operator does."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(_END_SECONDS)
        finally:
            self._kill()

    def connect(self) -> Connection:
        """Returns a connection of its own."""
        return Connection(self.port)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                with Connection(self.port) as connection:
                    if connection.get("/health?ready=true").status == _OK:
                        return
            except (OSError, HTTPException):
                pass
            time.sleep(_SECONDS_BETWEEN)
        raise ServerError(f"`spanwise serve` is not ready; its log `{self._log}` ends with: {self._last_words()}")

    def _last_words(self) -> str:
        return self._log.read_text("utf-8", "replace")[-1_000:]

    def _kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Connection:
    """One connection that is kept open; not to be shared by threads."""

    def __init__(self, port: int) -> None:
        """Prepares to connect to a port of the loopback."""
        self._http = HTTPConnection(HOST, port, timeout=120)

    def __enter__(self) -> Self:
        """Returns the connection."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the connection."""
        self._http.close()

    def get(self, path: str) -> Reply:
        """Returns the reply to a GET."""
        self._http.request("GET", path)
        return self._reply()

    def post(self, path: str, body: bytes | memoryview, content_type: str) -> Reply:
        """Returns the reply to a POST."""
        self._http.request("POST", path, body, {"Content-Type": content_type})
        return self._reply()

    def _reply(self) -> Reply:
        answer = self._http.getresponse()
        body = answer.read()
        return Reply(answer.status, body, float(answer.headers.get("Retry-After", 0)))


def expect_ok(reply: Reply) -> bytes:
    """Returns the body of a reply that is 200.

    Raises:
        ServerError: it is not.
    """
    if reply.status != _OK:
        raise ServerError(f"expected status 200, got {reply.status}: {reply.body[:500].decode('utf-8', 'replace')}")
    return reply.body
