"""`spanwise serve` in its own process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, ClassVar, Self

import httpx

if TYPE_CHECKING:
    from pathlib import Path

START_SECONDS = 90
STOP_SECONDS = 15
NO_DEFAULT_PORTS = {"SPANWISE_OTLP_GRPC_PORT": "0", "SPANWISE_OTLP_HTTP_PORT": "0"}
"""For the environment of every test service, because several run at the same time."""


def free_port() -> int:
    """Returns a free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class RunningService:
    """A running service over one data folder. Use it as a context manager, which kills it at the end."""

    default_ports: ClassVar[dict[str, str]] = NO_DEFAULT_PORTS
    mounted_at = ""

    def __init__(self, data_dir: Path, *flags: str, is_ready: bool = True, **variables: str) -> None:
        """Starts the service and waits until it is ready, unless `is_ready` is false.

        Args:
            data_dir: its data folder; its log is written beside it.
            flags: further command-line arguments.
            is_ready: True to wait until it is ready.
            variables: added to its environment after Spanwise settings are removed from it.
        """
        self.data_dir = data_dir
        self.log = data_dir.with_suffix(".log")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}{self.mounted_at}"
        self.http = httpx.Client(base_url=self.url, timeout=30)
        prefixes = ("SPANWISE_", "JWT_")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
        environment = inherited | self.default_ports | variables
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(data_dir, *flags), env=environment, stdout=log, stderr=log)
        if is_ready:
            self.wait_until_ready()

    def command(self, data_dir: Path, *flags: str) -> list[str]:
        port = str(self.port)
        return [sys.executable, "-m", "spanwise", "serve", "--data-dir", str(data_dir), "--port", port, *flags]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
        self.kill()

    def wait_until_ready(self) -> None:
        """Waits until the service accepts requests, including ingest."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                if self.http.get("/health", params={"ready": "true"}).is_success:
                    return
            except httpx.TransportError:
                assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.01)
        raise TimeoutError(self.log.read_text())

    def kill(self) -> None:
        """Kills the process with SIGKILL, if it is still running."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int:
        """Stops the process with SIGTERM and returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_SECONDS)

    def events(self) -> list[dict[str, Any]]:
        """Returns the log events of the service so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def search(self, **body: object) -> httpx.Response:
        return self.http.post("/traces/search", json=body)

    def trace_ids(self, **body: object) -> list[str]:
        """Returns the trace ids of all pages of a search."""
        return [item["trace_id"] for item in self.items(**body)]

    def wait_until_found(self, *trace_ids: str) -> float:
        """Waits until a search finds exactly these traces. Returns the wait in seconds."""
        began = time.monotonic()
        while (found := sorted(self.trace_ids())) != sorted(trace_ids):
            assert time.monotonic() < began + START_SECONDS, f"found {found}"
            time.sleep(0.01)
        return time.monotonic() - began

    def items(self, **body: object) -> list[dict[str, Any]]:
        """Returns the items of all pages of a search."""
        found: list[dict[str, Any]] = []
        pages = 1
        page = 1
        while page <= pages:
            response = self.search(**body, page=page, limit=100).raise_for_status().json()
            found += response["data"]
            pages = response["meta"]["total_pages"]
            page += 1
        return found
