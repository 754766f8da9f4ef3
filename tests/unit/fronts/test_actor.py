"""The code of a gateway process, run in this process."""

from __future__ import annotations

import inspect
import socket
import time
from contextlib import closing
from typing import TYPE_CHECKING

import httpx
import pytest

from spanwise.errors import UnavailableError
from spanwise.fronts.actor import FrontActor, FrontPlan
from support.services.process import free_port

if TYPE_CHECKING:
    from pathlib import Path

NO_OTHER_PORTS = {"otlp_http_port": 0, "otlp_grpc_port": 0}


def plan_of(folder: Path, port: int, ports: int = 1) -> FrontPlan:
    return FrontPlan({"data_dir": str(folder), "port": port} | NO_OTHER_PORTS, ports)


def listening() -> socket.socket:
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    return taken


def test_it_serves_until_it_is_stopped(tmp_path: Path) -> None:
    port = free_port()
    front = FrontActor(plan_of(tmp_path / "data", port))
    place = front.open(30)
    assert (place.url, place.error) == (f"http://127.0.0.1:{port}", None)
    assert place == front.place()
    assert httpx.get(f"{place.url}/health", params={"ready": "true"}).status_code == 200
    front.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{place.url}/health")
    assert front.place().url is None


def test_it_takes_the_next_port_if_one_is_taken(tmp_path: Path) -> None:
    with closing(listening()) as taken:
        port = taken.getsockname()[1]
        front = FrontActor(plan_of(tmp_path / "data", port, 20))
        url = front.open(30).url
        assert url is not None
        assert port < int(url.rpartition(":")[2]) < port + 20
        front.stop()


def test_it_says_why_it_does_not_serve_and_tries_again(tmp_path: Path) -> None:
    taken = listening()
    front = FrontActor(plan_of(tmp_path / "data", taken.getsockname()[1]))
    with pytest.raises(UnavailableError, match="in use"):
        front.open(30)
    taken.close()
    deadline = time.monotonic() + 30
    while front.place().error is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    front.stop()


def test_no_method_is_asynchronous() -> None:
    # If an actor has a coroutine method, Ray runs all of its methods in one event loop. A waiting method would block
    # the others.
    assert not any(inspect.iscoroutinefunction(member) for member in vars(FrontActor).values())


def test_it_can_be_stopped_before_it_serves(tmp_path: Path) -> None:
    with closing(listening()) as taken:
        front = FrontActor(plan_of(tmp_path / "data", taken.getsockname()[1]))
        front.stop()
        assert front.place().url is None
