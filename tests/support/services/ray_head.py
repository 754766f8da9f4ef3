"""A Ray cluster of one machine, as `ray start --head` begins it, on free ports of the loopback interface."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

from support.services.process import NO_DEFAULT_PORTS, free_port

START_SECONDS = 90
STOP_SECONDS = 30


class RayHead:
    """A Ray cluster whose processes know each other by a token. Use it as a context manager, which ends it.

    Attributes:
        address: where its head listens.
        variables: the environment of programs that use it.
    """

    def __init__(self) -> None:
        """Starts it and waits until it answers."""
        # Sockets are in it, whose paths must be short.
        self._folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        self.variables = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            # All of it stays on the loopback interface.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",
        }
        flags = {
            "port": port,
            "node-ip-address": "127.0.0.1",
            "ray-client-server-port": free_port(),
            "include-dashboard": "false",
            "num-cpus": 3,
            "object-store-memory": 100 << 20,
            "temp-dir": self._folder,
        }
        self._log = Path(self._folder) / "head.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    Path(sys.executable).with_name("ray"),
                    "start",
                    "--head",
                    "--block",
                    *(f"--{name}={value}" for name, value in flags.items()),
                ],
                env=self.environment(),
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + START_SECONDS
        while "This command will now block" not in self._log.read_text():
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.1)

    def environment(self) -> dict[str, str]:
        """Returns the environment of a program that uses it, without settings of Spanwise."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPANWISE_", "RAY_"))}
        return inherited | NO_DEFAULT_PORTS | self.variables

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        finally:
            self._process.kill()
            shutil.rmtree(self._folder, ignore_errors=True)
