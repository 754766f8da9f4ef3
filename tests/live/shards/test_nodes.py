"""A Ray cluster of several nodes: what happens when one of them goes, and the head."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from support.servers.buckets import BUCKET
from support.services.cluster import needs_ray
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
"""Of each kind of store, so that ten nodes and ten heads go."""


@pytest.fixture(params=range(ROUNDS))
def number(request: pytest.FixtureRequest) -> int:
    """Returns which of several times it is, each with a cluster of its own: a head that is gone does not come back."""
    number: int = request.param
    return number


@pytest.fixture(params=["folder", "bucket"])
def data_dir(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Returns where the store is, which all nodes see."""
    if request.param == "folder":
        return str(tmp_path / "data")
    request.getfixturevalue("reach")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    server: BucketServer = request.getfixturevalue("server")
    return f"{server.scheme}://{BUCKET}/nodes"


def spanwise(head: RayHead, *arguments: str) -> dict[str, Any]:
    """Returns what `spanwise cluster` with these arguments prints, if that is JSON."""
    command = [sys.executable, "-m", "spanwise", "cluster", *arguments]
    said = subprocess.run(command, check=False, capture_output=True, text=True, timeout=180, env=head.environment())
    assert said.stdout, said.stderr
    decoded: dict[str, Any] = json.loads(said.stdout) if said.stdout.startswith("{") else {}
    return decoded


@pytest.mark.usefixtures("number")
def test_a_node_and_then_the_head_go(data_dir: str) -> None:
    port = free_port()
    with ExitStack() as stack:
        head = stack.enter_context(RayHead(1, has_nodes=True))
        lost = stack.enter_context(head.node("one", 2, shard=1))
        # The front door is on the node that stays, so that its caller needs no load balancer.
        stack.enter_context(head.node("two", 2, shard=1, front=1))
        flags = ("--shards", "2", "--followers", "1", "--fronts", "1", "--port", str(port))
        spanwise(head, "up", "--cluster", head.address, "--data-dir", data_dir, *flags)
        http = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60))
        searches = Searches(http, 0)
        send(http, searches, 20)

        lost.kill("raylet")
        send(http, searches, 20)
        status = ("status", data_dir, "--address", head.address, "--json")
        deadline = time.monotonic() + WAIT_SECONDS
        while [state["state"] for state in spanwise(head, *status)["shards"]] != ["up"] * 4:
            assert time.monotonic() < deadline
        send(http, searches, 20)

        head.kill("gcs_server")
        until, count = time.monotonic() + AFTER_SECONDS, searches.count
        while time.monotonic() < until:
            send(http, searches, 5)
        searches.end()
        assert searches.failed == []
        assert searches.count > count
        found = http.post("/traces/search", json={"limit": 1}).json()["meta"]["total_count"]
        assert found == searches.stored
