"""The code of a gateway process, run in this process."""

from __future__ import annotations

import inspect
import socket
import time
from contextlib import closing
from typing import TYPE_CHECKING

import httpx
import pytest

from spanwise.cluster.gateways import GatewayActor, GatewayPlan
from spanwise.errors import UnavailableError
from spanwise.gateway_service import serve_gateway
from support.services.process import free_port

if TYPE_CHECKING:
    from pathlib import Path

NO_OTHER_PORTS = {"otlp_http_port": 0, "otlp_grpc_port": 0}


def plan_of(folder: Path, port: int, ports: int = 1) -> GatewayPlan:
    return GatewayPlan({"data_dir": str(folder), "port": port} | NO_OTHER_PORTS, ports, serve_gateway)


def listening() -> socket.socket:
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    return taken


def test_it_serves_until_it_is_stopped(tmp_path: Path) -> None:
    port = free_port()
    gateway = GatewayActor(plan_of(tmp_path / "data", port))
    location = gateway.open(30)
    assert (location.url, location.error) == (f"http://127.0.0.1:{port}", None)
    assert location == gateway.location()
    assert httpx.get(f"{location.url}/health", params={"ready": "true"}).status_code == 200
    gateway.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{location.url}/health")
    assert gateway.location().url is None


def test_it_takes_the_next_port_if_one_is_taken(tmp_path: Path) -> None:
    with closing(listening()) as taken:
        port = taken.getsockname()[1]
        gateway = GatewayActor(plan_of(tmp_path / "data", port, 20))
        url = gateway.open(30).url
        assert url is not None
        assert port < int(url.rpartition(":")[2]) < port + 20
        gateway.stop()


def test_it_says_why_it_does_not_serve_and_tries_again(tmp_path: Path) -> None:
    taken = listening()
    gateway = GatewayActor(plan_of(tmp_path / "data", taken.getsockname()[1]))
    with pytest.raises(UnavailableError, match="in use"):
        gateway.open(30)
    taken.close()
    deadline = time.monotonic() + 30
    while gateway.location().error is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    gateway.stop()


def test_no_method_is_asynchronous() -> None:
    # If an actor has a coroutine method, Ray runs all of its methods in one event loop. A waiting method would block
    # the others.
    assert not any(inspect.iscoroutinefunction(member) for member in vars(GatewayActor).values())


def test_it_can_be_stopped_before_it_serves(tmp_path: Path) -> None:
    with closing(listening()) as taken:
        gateway = GatewayActor(plan_of(tmp_path / "data", taken.getsockname()[1]))
        gateway.stop()
        assert gateway.location().url is None
