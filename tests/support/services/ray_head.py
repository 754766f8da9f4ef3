"""A Ray cluster on this machine, started like `ray start`, on free loopback ports."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from support.services.cluster import descendants
from support.services.process import NO_DEFAULT_PORTS, free_port

START_SECONDS = 90
STOP_SECONDS = 30
QUICK_NODES = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "5000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "600",
}
"""The values of `docs/scaling.md` that detect a lost node quickly. They tolerate a node that is briefly without a
processor, as happens when a machine runs all tests."""


class RayNode:
    """A node of a cluster: a process that has started others. Use it as a context manager, which ends it.

    Attributes:
        process: the process.
    """

    def __init__(self, environment: dict[str, str], log: Path, flags: dict[str, object], *, is_head: bool) -> None:
        """Starts the node and waits until it has joined the cluster.

        Args:
            environment: the environment of its processes.
            log: its log file.
            flags: the flags of `ray start`.
            is_head: True for the head.
        """
        given = [f"--{name}={value}" for name, value in flags.items()]
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [Path(sys.executable).with_name("ray"), "start", *(["--head"] if is_head else []), "--block", *given],
                env=environment,
                stdout=file,
                stderr=file,
            )
        deadline = time.monotonic() + START_SECONDS
        while "This command will now block" not in log.read_text():
            assert self.process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)

    def kill(self, program: str) -> None:
        """Kills a program of the node, such as `raylet`. Without it, the node is lost."""
        (pid,) = (
            pid for pid, command in descendants(self.process.pid).items() if Path(command.split()[0]).name == program
        )
        os.kill(pid, signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Without its head, the node would not end by itself for a long time.
        for pid in (self.process.pid, *descendants(self.process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


class RayHead(RayNode):
    """A Ray cluster whose processes authenticate by a token. Use it as a context manager, which ends its head.

    Attributes:
        address: the address of its head.
        variables: the environment of its client programs.
    """

    def __init__(self, cpus: int = 3, *, has_nodes: bool = False, **resources: float) -> None:
        """Starts the head.

        Args:
            cpus: the processors of the head.
            has_nodes: True if it gets further nodes. The head then listens on the network, because Ray allows one node
                on the loopback interface only.
            resources: its other resources.
        """
        # The folder contains sockets, whose paths must be short.
        self._folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
        port = free_port()
        self.variables = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": str(int(has_nodes)),
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_worker_niceness": "0",
        } | QUICK_NODES
        flags: dict[str, object] = {
            "port": port,
            "ray-client-server-port": free_port(),
            "include-dashboard": "false",
            "temp-dir": self._folder,
        }
        if not has_nodes:
            flags["node-ip-address"] = "127.0.0.1"
        log = self._folder / "head.log"
        super().__init__(self.environment(), log, flags | _node_flags(cpus, resources), is_head=True)
        host = re.search(r"Local node IP: (\S+)", log.read_text())
        assert host, log.read_text()
        self.address = f"{host[1]}:{port}"

    def node(self, name: str, cpus: int, **resources: float) -> RayNode:
        """Returns a further node after it has joined the cluster."""
        flags: dict[str, object] = {"address": self.address} | _node_flags(cpus, resources)
        return RayNode(self.environment(), self._folder / f"{name}.log", flags, is_head=False)

    def environment(self) -> dict[str, str]:
        """Returns the environment of a client program, without Spanwise settings."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPANWISE_", "RAY_"))}
        return inherited | NO_DEFAULT_PORTS | self.variables

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_SECONDS)
        finally:
            super().__exit__()
            shutil.rmtree(self._folder, ignore_errors=True)


def _node_flags(cpus: int, resources: dict[str, float]) -> dict[str, object]:
    return {
        "num-cpus": cpus,
        "object-store-memory": 100 << 20,
        "resources": json.dumps(resources),
    }
