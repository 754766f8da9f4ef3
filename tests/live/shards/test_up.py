"""Shards in a Ray cluster outlive the services that use them, until they are ended explicitly."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from support.clients.otlp import export_request
from support.clients.tail import tail
from support.services.cluster import needs_ray
from support.services.process import RunningService, free_port
from support.services.ray_head import RayHead

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = list(needs_ray)
JSON = {"Content-Type": "application/json"}
WAIT_SECONDS = 60


@pytest.fixture(scope="module")
def head() -> Iterator[RayHead]:
    with RayHead() as started:
        yield started


@pytest.fixture
def folder(head: RayHead, tmp_path: Path) -> Iterator[Path]:
    """Returns a data folder with a store of three running shards."""
    folder = tmp_path / "data"
    flags = ("--data-dir", str(folder), "--shards", "3", "--gateways", "0")
    started = spanwise(head, "up", "--cluster", head.address, *flags)
    assert started.returncode == 0, started.stderr
    assert [line.split(" on ")[0] for line in started.stdout.splitlines()] == [
        "Shard `0` is up",
        "Shard `10` is up",
        "Shard `11` is up",
    ]
    yield folder
    assert spanwise(head, "down", str(folder), "--address", head.address).returncode == 0


def spanwise(head: RayHead, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Returns the output of `spanwise cluster` with these arguments."""
    return subprocess.run(
        [sys.executable, "-m", "spanwise", "cluster", *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env=head.environment(),
    )


def states(head: RayHead, folder: Path) -> list[dict[str, Any]]:
    shown = spanwise(head, "status", str(folder), "--address", head.address, "--json")
    decoded: list[dict[str, Any]] = json.loads(shown.stdout)["shards"]
    assert json.loads(shown.stdout)["gateways"] == []
    assert shown.returncode == (0 if all(state["state"] == "up" for state in decoded) else 1)
    return decoded


def start_service(head: RayHead, folder: Path, log: str) -> RunningService:
    """Returns a service over the shards of a folder, with its own data folder and its log beside it."""
    flags = ("--cluster", head.address, "--store", f"shared={folder / 'traces'}")
    return RunningService(folder.parent / log, *flags, is_ready=True, **head.variables)


def send(service: RunningService, *numbers: int) -> None:
    for number in numbers:
        body = export_request(f"{number:032x}", "0" * 15 + "1")
        service.http.post("/v1/traces", content=body, headers=JSON).raise_for_status()


def test_services_share_the_shards_and_leave_them(head: RayHead, folder: Path) -> None:
    before = states(head, folder)
    with start_service(head, folder, "one") as one, start_service(head, folder, "two") as two:
        with tail(two) as reader:
            send(one, *range(1, 11))
            assert len({reader.trace()["trace_id"] for _ in range(10)}) == 10
        assert sorted(two.trace_ids()) == sorted(one.trace_ids()) == [f"{number:032x}" for number in range(1, 11)]
        assert one.stop() == 0
        send(two, 11)
        assert len(two.trace_ids()) == 11
        assert two.stop() == 0
    after = states(head, folder)
    assert [state["process_id"] for state in after] == [state["process_id"] for state in before]
    assert sum(state["traces"] for state in after) == 11


def test_a_shard_that_is_killed_is_started_again(head: RayHead, folder: Path) -> None:
    with start_service(head, folder, "one") as service:
        send(service, *range(1, 11))
        killed = states(head, folder)[0]["process_id"]
        os.kill(killed, signal.SIGKILL)
        send(service, *range(11, 21))
        deadline = time.monotonic() + WAIT_SECONDS
        shown = states(head, folder)
        while {state["state"] for state in shown} != {"up"}:
            assert time.monotonic() < deadline, shown
            shown = states(head, folder)
        assert killed not in [state["process_id"] for state in shown]
        service.wait_until_ready()
        assert len(service.trace_ids()) == 20


def test_services_find_shards_that_are_started_anew(head: RayHead, folder: Path) -> None:
    with start_service(head, folder, "one") as service:
        send(service, *range(1, 11))
        ended = spanwise(head, "down", str(folder), "--address", head.address)
        assert (ended.returncode, ended.stdout) == (0, "Ended 3 shards.\n")
        assert [state["state"] for state in states(head, folder)] == ["down"] * 3
        response = service.search()
        assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
        up = ("up", "--cluster", head.address, "--data-dir", str(folder), "--gateways", "0")
        assert spanwise(head, *up).returncode == 0
        service.wait_until_ready()
        assert len(service.trace_ids()) == 10
        assert service.stop() == 0


def gateways(head: RayHead, folder: Path) -> list[dict[str, Any]]:
    shown = spanwise(head, "status", str(folder), "--address", head.address, "--json")
    decoded: list[dict[str, Any]] = json.loads(shown.stdout)["gateways"]
    return decoded


def found(url: str) -> set[str]:
    response = httpx.post(f"{url}/traces/search", json={"limit": 100}, timeout=30)
    return {item["trace_id"] for item in response.raise_for_status().json()["data"]}


def test_gateways_go_on_until_down(head: RayHead, folder: Path, tmp_path: Path) -> None:
    port = free_port()
    other = tmp_path / "other"
    flags = ("--port", str(port), "--shards", "2", "--followers", "1", "--gateways", "2")
    up = ("up", "--cluster", head.address, "--data-dir", str(other), *flags)
    started = spanwise(head, *up)
    assert started.returncode == 0, started.stderr
    lines = started.stdout.splitlines()
    assert [line.split(" is up")[0] for line in lines] == [
        "Shard `0`",
        "The follower of shard `0`",
        "Shard `1`",
        "The follower of shard `1`",
        "Gateway 0",
        "Gateway 1",
    ]
    first, second = gateways(head, other)
    assert (first["url"], first["state"]) == (f"http://127.0.0.1:{port}", "up")
    trace_id = f"{7:032x}"
    body = export_request(trace_id, "0" * 15 + "1")
    httpx.post(f"{first['url']}/v1/traces", content=body, headers=JSON, timeout=30).raise_for_status()
    assert found(first["url"]) == found(second["url"]) == {trace_id}

    os.kill(first["process_id"], signal.SIGKILL)
    deadline = time.monotonic() + WAIT_SECONDS
    while (again := gateways(head, other))[0]["state"] != "up" or again[0]["process_id"] == first["process_id"]:
        assert time.monotonic() < deadline, again
    assert found(again[0]["url"]) == {trace_id}
    # Existing processes stay.
    assert spanwise(head, *up).returncode == 0
    assert gateways(head, other) == again

    before = states(head, folder)
    ended = spanwise(head, "down", str(other), "--address", head.address)
    assert (ended.returncode, ended.stdout) == (0, "Ended 2 gateways, 2 shards, 2 followers.\n")
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{second['url']}/health")
    assert states(head, folder) == before


def test_a_gateway_that_does_not_open_is_not_left_running(head: RayHead, folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        flags = ("--data-dir", str(folder), "--port", str(taken.getsockname()[1]))
        said = spanwise(head, "up", "--cluster", head.address, *flags)
    assert said.returncode == 1
    assert said.stderr.startswith("Error: gateway 0 does not open: ")
    assert gateways(head, folder) == []


def test_mistakes_are_one_line(head: RayHead, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{taken.getsockname()[1]}"
        flags = ("--data-dir", str(tmp_path / "data"), "--shards", "2")
        mistakes = {
            ("up", "--cluster", nobody, *flags): f"there is no Ray cluster at `{nobody}`: ",
            ("up", "--cluster", "local", *flags): "`local` starts a Ray that ends with the service; ",
            (
                "status",
                str(tmp_path / "none"),
                "--address",
                head.address,
            ): f"`{tmp_path}/none/traces` has no store with shards",
            ("down", str(tmp_path / "data"), "--address", nobody): f"there is no Ray cluster at `{nobody}`: ",
            ("status", str(tmp_path / "data"), "--address", head.address): "no shard of the store is running; ",
        }
        for arguments, message in mistakes.items():
            said = spanwise(head, *arguments)
            assert (said.returncode, said.stdout) == (1, "")
            assert said.stderr.startswith(f"Error: {message}")
            assert len(said.stderr.splitlines()) == 1
