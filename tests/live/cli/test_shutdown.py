"""Shutdown of a service, and the limit of one service per data folder."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from support.clients.otlp import export_request
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_with_zero_and_traces_survive_the_restart(
    start: Callable[..., RunningService], number: signal.Signals
) -> None:
    service = start()
    service.http.post("/v1/traces", content=export_request("a" * 32, "b" * 16), headers=JSON).raise_for_status()
    service.process.send_signal(number)
    assert service.process.wait(15) == 0, service.log.read_text()
    assert start().trace_ids() == ["a" * 32]


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.2])
def test_two_signals_end_an_idle_service_as_one_does(start: Callable[..., RunningService], delay: float) -> None:
    service = start()
    service.process.send_signal(signal.SIGTERM)
    time.sleep(delay)
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(15) == 0, service.log.read_text()
    assert service.events()[-1]["message"] == "stopped"
    assert {event["level"] for event in service.events()} == {"info"}


def test_a_signal_under_ingest_loses_nothing_that_was_acknowledged(start: Callable[..., RunningService]) -> None:
    service, acknowledged = start(), set[str]()

    def write(first: int) -> None:
        for number in range(first, first + 100_000):
            trace_id = f"{number:032x}"
            try:
                response = service.http.post("/v1/traces", content=export_request(trace_id, "b" * 16), headers=JSON)
            except Exception:  # noqa: BLE001  # any error means that the service is gone
                return
            if response.status_code != 200:
                assert response.status_code == 503
                return
            acknowledged.add(trace_id)

    writers = [threading.Thread(target=write, args=(1 + number * 1_000_000,)) for number in range(4)]
    for writer in writers:
        writer.start()
    while len(acknowledged) < 100:
        assert service.process.poll() is None
    assert service.stop() == 0, service.log.read_text()
    for writer in writers:
        writer.join()
    assert acknowledged <= set(start().trace_ids())


def test_a_second_service_over_the_same_data_does_not_start(start: Callable[..., RunningService]) -> None:
    service = start()
    with RunningService(service.data_dir, is_ready=False) as second:
        assert second.process.wait(15) == 1
        last_line = second.log.read_text().splitlines()[-1]
        assert last_line.startswith("Error: ")
        assert str(service.data_dir) in last_line
    assert service.http.get("/health", params={"ready": "true"}).status_code == 200


def test_a_port_in_use_is_rejected_by_name(service: RunningService, tmp_path: Path) -> None:
    done = run("serve", "--data-dir", str(tmp_path / "other"), "--port", str(service.port))
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{service.port}: Address already in use" in done.stderr


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "spanwise", *arguments], capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "--port", "x"], "setting `port` from the command line: Expected `int`, got `str`"),
        (["serve", "nope:service"], "expected MODULE:SERVICE, got `nope:service`"),
        (["serve", "spanwise:Filter"], "expected a Service at `spanwise:Filter`, got `type`"),
        (["serve", "spanwise"], "`spanwise` has no `service`: it has no Service at all"),
        (["serve", "--config", "absent.toml"], "cannot read the settings file `absent.toml`"),
    ],
)
def test_an_invalid_start_is_rejected_in_one_line(arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_prints_its_version_and_checks_a_folder(start: Callable[..., RunningService]) -> None:
    assert run("--version").stdout.startswith("spanwise 0.1.0")
    service = start()
    service.http.post("/v1/traces", content=export_request("a" * 32, "b" * 16), headers=JSON).raise_for_status()
    service.http.post("/sessions", json={}).raise_for_status()
    assert service.stop() == 0
    done = run("check", str(service.data_dir))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Sound: ")
    report = json.loads(run("check", str(service.data_dir), "--json").stdout)
    assert {"bytes", "segments", "database_rows"} <= report.keys()


def test_a_client_that_disconnects_in_mid_request_harms_nobody(service: RunningService) -> None:
    head = b"POST /traces/search HTTP/1.1\r\nHost: localhost\r\n"
    head += b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    for sent in (b"", head[:20], head, head + b"{", head + b"{}"):
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", service.port)) as client:
                client.sendall(sent)
    assert service.search().status_code == 200


def test_a_body_that_ends_early_is_400_and_one_that_stalls_408(start: Callable[..., RunningService]) -> None:
    service = start("--body-deadline-seconds", "0.5")
    head = b"POST /traces/search HTTP/1.1\r\nHost: localhost\r\n"
    head += b"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
    for ends, status in ((True, b"400"), (False, b"408")):
        with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
            client.sendall(head)
            if ends:
                client.shutdown(socket.SHUT_WR)
            assert client.recv(65536).startswith(b"HTTP/1.1 " + status)
