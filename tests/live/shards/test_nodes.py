"""A Ray cluster of several nodes: the loss or suspension of a node, and the loss of the head."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from support.servers.buckets import BUCKET
from support.services.cluster import are_gone, descendants, needs_ray
from support.services.process import free_port
from support.services.ray_head import RayHead
from support.services.searches import Searches, send

if TYPE_CHECKING:
    from pathlib import Path

    from support.servers.buckets import BucketServer

pytestmark = list(needs_ray)
WAIT_SECONDS = 90
AFTER_SECONDS = 15
ROUNDS = 5
"""Rounds per kind of store, so that ten nodes and ten heads are lost."""


@pytest.fixture(params=range(ROUNDS))
def number(request: pytest.FixtureRequest) -> int:
    """Returns the number of the round. Each has its own cluster, because a lost head does not come back."""
    number: int = request.param
    return number


@pytest.fixture(params=["folder", "bucket"])
def data_dir(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Returns the location of the store, which all nodes can access."""
    if request.param == "folder":
        return str(tmp_path / "data")
    request.getfixturevalue("reach")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    server: BucketServer = request.getfixturevalue("server")
    # Tests share the bucket.
    return f"{server.scheme}://{BUCKET}/{tmp_path.name}"


def spanwise(head: RayHead, *arguments: str) -> dict[str, Any]:
    """Returns the JSON output of `spanwise cluster` with these arguments, if it prints JSON."""
    command = [sys.executable, "-m", "spanwise", "cluster", *arguments]
    said = subprocess.run(command, check=False, capture_output=True, text=True, timeout=180, env=head.environment())
    assert said.stdout, said.stderr
    decoded: dict[str, Any] = json.loads(said.stdout) if said.stdout.startswith("{") else {}
    return decoded


class Nodes:
    """A cluster with two nodes. Each has one shard and the follower of the other one. A caller uses the gateway.

    Attributes:
        head: its head.
        lost: the node that a test removes. The gateway is on the other one, so its caller needs no load balancer.
        http: the caller.
        searches: its continuous searches.
    """

    def __init__(self, stack: ExitStack, data_dir: str) -> None:
        port = free_port()
        self.head = stack.enter_context(RayHead(1, has_nodes=True))
        self.lost = stack.enter_context(self.head.node("one", 2, shard=1))
        stack.enter_context(self.head.node("two", 2, shard=1, gateway=1))
        self._data_dir = data_dir
        flags = ("--shards", "2", "--followers", "1", "--gateways", "1", "--port", str(port))
        spanwise(self.head, "up", "--cluster", self.head.address, "--data-dir", data_dir, *flags)
        self.http = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60))
        self.searches = Searches(self.http, 0)
        self.send(20)

    def send(self, count: int) -> None:
        send(self.http, self.searches, count)

    def send_for(self, seconds: float) -> None:
        """Sends traces for a number of seconds, and asserts that searches succeeded at the same time."""
        until, count = time.monotonic() + seconds, self.searches.count
        while time.monotonic() < until:
            self.send(5)
        assert self.searches.count > count

    def wait_until_up(self, *roles: str) -> None:
        """Waits until the processes with these roles respond for both shards."""
        status = ("status", self._data_dir, "--address", self.head.address, "--json")
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._are_up(roles, spanwise(self.head, *status)["shards"]):
            assert time.monotonic() < deadline

    def _are_up(self, roles: tuple[str, ...], states: list[dict[str, Any]]) -> bool:
        return [state["state"] for state in states if state["role"] in roles] == ["up"] * 2 * len(roles)

    def end(self) -> None:
        """Asserts that no search failed, and that every acknowledged trace exists exactly once."""
        self.searches.end()
        assert self.searches.failed == []
        found = self.http.post("/traces/search", json={"limit": 1}).json()["meta"]["total_count"]
        assert found == self.searches.stored


@pytest.mark.usefixtures("number")
def test_a_node_and_then_the_head_go(data_dir: str) -> None:
    with ExitStack() as stack:
        nodes = Nodes(stack, data_dir)
        nodes.lost.kill("raylet")
        nodes.send(20)
        nodes.wait_until_up("writer", "follower")
        nodes.send(20)
        nodes.head.kill("gcs_server")
        nodes.send_for(AFTER_SECONDS)
        nodes.end()


@pytest.mark.parametrize("data_dir", ["bucket"], indirect=True)
def test_what_has_moved_acknowledges_nothing_when_it_is_continued(data_dir: str) -> None:
    """In a bucket, a second process can open a store whose first process is only suspended."""
    with ExitStack() as stack:
        nodes = Nodes(stack, data_dir)
        asleep = descendants(nodes.lost.process.pid)
        shards = {pid for pid, command in asleep.items() if command.startswith("ray::ShardActor")}
        assert shards
        for pid in asleep:
            os.kill(pid, signal.SIGSTOP)
        nodes.send(20)
        # On one machine both nodes share a cache, which the suspended follower withholds from its replacement.
        nodes.wait_until_up("writer")
        nodes.send(20)
        # The shards come first, while their node is suspended. Otherwise it would end them.
        for pid in shards:
            os.kill(pid, signal.SIGCONT)
        nodes.send_for(AFTER_SECONDS)
        for pid in asleep:
            os.kill(pid, signal.SIGCONT)
        nodes.send_for(AFTER_SECONDS)
        assert are_gone({pid: asleep[pid] for pid in shards})
        nodes.wait_until_up("writer", "follower")
        nodes.end()
