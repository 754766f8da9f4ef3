"""A `spanwise serve` process on the loopback interface, and persistent connections to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, NamedTuple, Self

from spanwise.bench.errors import ServerError

if TYPE_CHECKING:
    from pathlib import Path

HOST = "127.0.0.1"
_START_SECONDS = 120
_STOP_SECONDS = 60
_POLL_SECONDS = 0.002
_OK = 200


class Reply(NamedTuple):
    """A response: its status, its body, and `Retry-After` in seconds, 0 if absent."""

    status: int
    body: bytes
    retry_after: float


class ServerProcess:
    """A service with a data folder. Use it as a context manager.

    Attributes:
        port: the port it listens on.
        process: its process.
        ready_seconds: the time from its start until it was ready.
    """

    def __init__(self, data_dir: Path) -> None:
        """Starts the service; its log file is next to the folder.

        Raises:
            ServerError: it exited, or was not ready in time.
        """
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            self.port: int = probe.getsockname()[1]
        self._log = data_dir.with_suffix(".log")
        # An installed package has its bytecode: without it the sources would be compiled at every start.
        left_out = ("SPANWISE_", "JWT_", "PYTHONDONTWRITEBYTECODE")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        command = [sys.executable, "-m", "spanwise", "serve", "--data-dir", str(data_dir), "--port", str(self.port)]
        command += ["--otlp-grpc-port", "0", "--otlp-http-port", "0"]
        begun = time.perf_counter()
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)  # noqa: S603  # our own
        try:
            self._wait_until_ready()
        except BaseException:  # Ctrl-C too: nobody else ends the process
            self._kill()
            raise
        self.ready_seconds = time.perf_counter() - begun

    def __enter__(self) -> Self:
        """Returns the service, which is ready for requests."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stops the service with SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(_STOP_SECONDS)
        finally:
            self._kill()

    def connect(self) -> Connection:
        """Returns a new connection."""
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
            time.sleep(_POLL_SECONDS)
        raise ServerError(f"`spanwise serve` is not ready; the end of its log `{self._log}`: {self._log_tail()}")

    def _log_tail(self) -> str:
        return self._log.read_text("utf-8", "replace")[-1_000:]

    def _kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Connection:
    """A persistent connection; not thread-safe."""

    def __init__(self, port: int) -> None:
        """Creates a connection to a port of the loopback interface."""
        self._http = HTTPConnection(HOST, port, timeout=120)

    def __enter__(self) -> Self:
        """Returns the connection."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the connection."""
        self._http.close()

    def get(self, path: str) -> Reply:
        """Sends a GET request; returns the response."""
        self._http.request("GET", path)
        return self._reply()

    def post(self, path: str, body: bytes | memoryview, content_type: str) -> Reply:
        """Sends a POST request; returns the response."""
        self._http.request("POST", path, body, {"Content-Type": content_type})
        return self._reply()

    def _reply(self) -> Reply:
        response = self._http.getresponse()
        body = response.read()
        return Reply(response.status, body, float(response.headers.get("Retry-After", 0)))


def expect_ok(reply: Reply) -> bytes:
    """Returns the body of a response with status 200.

    Raises:
        ServerError: the status is different.
    """
    if reply.status != _OK:
        raise ServerError(f"expected status 200, got {reply.status}: {reply.body[:500].decode('utf-8', 'replace')}")
    return reply.body
