"""Shards in separate processes: acknowledged data survives any kill, and no process is left running."""

from __future__ import annotations

import os
import random
import signal
import socket
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.clients.otlp import export_request
from support.clients.tail import tail
from support.services.cluster import CLUSTER, are_gone, descendants, needs_ray, shard_processes
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = list(needs_ray)
JSON = {"Content-Type": "application/json"}
SHARDS = 3
WAIT_SECONDS = 90


def send(service: RunningService, number: int) -> int:
    """Returns the status of sending the trace with this number."""
    body = export_request(f"{number:032x}", "0" * 15 + "1")
    return service.http.post("/v1/traces", content=body, headers=JSON).status_code


def wait_until_gone(processes: dict[int, str]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not are_gone(processes):
        assert time.monotonic() < deadline, processes
        time.sleep(0.05)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Returns a service whose shards all respond at the start and at the end of a test."""
    with RunningService(tmp_path_factory.mktemp("cluster") / "data", *CLUSTER) as running:
        yield running
        running.stop()


def test_a_shard_that_is_killed_comes_back_with_what_it_had(service: RunningService) -> None:
    assert {send(service, number) for number in range(1, 31)} == {200}
    (killed, *others) = shard_processes(service.process.pid)
    assert len(others) == SHARDS - 1
    os.kill(killed, signal.SIGKILL)
    refused = []
    while (response := service.search(limit=100)).status_code != 200:
        refused.append(response)
        assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
        assert " does not answer" in response.json()["detail"]
    assert refused
    assert response.json()["meta"]["total_count"] == 30
    service.wait_until_ready()
    after = shard_processes(service.process.pid)
    assert len(after) == SHARDS
    assert set(after) > set(others)
    assert service.http.get("/metrics").is_success
    said = [event["message"] for event in service.events() if event["message"].startswith("shard `")]
    assert ["does not answer" in message for message in said] == [True, False]
    assert "answers again after" in said[1]


def test_a_write_waits_for_shards_that_come_back(service: RunningService) -> None:
    for pid in shard_processes(service.process.pid):
        os.kill(pid, signal.SIGKILL)
    assert {send(service, number) for number in range(101, 109)} == {200}
    service.wait_until_ready()
    assert {f"{number:032x}" for number in range(101, 109)} <= set(service.trace_ids())


def test_a_tail_says_that_it_has_lost_its_place(service: RunningService) -> None:
    with tail(service) as reader:
        assert send(service, 201) == 200
        assert reader.trace()["trace_id"] == f"{201:032x}"
        os.kill(shard_processes(service.process.pid)[0], signal.SIGKILL)
        assert reader.until("end")[-1].data == {"reason": "failed"}
    service.wait_until_ready()
    with tail(service, last_id=reader.last_id, resumes=False) as again:
        assert send(service, 202) == 200
        assert again.trace()["trace_id"] == f"{202:032x}"


def test_no_process_outlives_the_service(tmp_path: Path) -> None:
    with RunningService(tmp_path / "data", *CLUSTER) as killed:
        assert send(killed, 1) == 200
        before = descendants(killed.process.pid)
    with RunningService(tmp_path / "data", *CLUSTER) as stopped:
        assert stopped.trace_ids() == [f"{1:032x}"]
        processes = descendants(stopped.process.pid)
        assert len(processes) > SHARDS
        # Ray aborts a process that takes three seconds to stop.
        with socket.create_connection(("127.0.0.1", stopped.port)) as unfinished:
            unfinished.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
            threading.Timer(4, unfinished.shutdown, (socket.SHUT_RDWR,)).start()
            assert stopped.stop() == 0
        wait_until_gone(processes)
    wait_until_gone({pid: command for pid, command in before.items() if command.startswith("ray::ShardActor")})
    # Ray's agents spend up to a minute reporting the loss to its head.
    for pid in before:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Load:
    """Sends numbered traces one by one, and searches for them, until it is stopped.

    Attributes:
        first: the number before the first one.
        begun: the last number that was sent.
        stored: the last acknowledged number.
        wrong: responses that are impossible for a store with these traces.
    """

    def __init__(self, service: RunningService) -> None:
        self.first = self.begun = self.stored = 1000
        self.wrong: list[tuple[int, str]] = []
        self._service = service
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=work) for work in (self._send, self._search, self._search)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Returns once everything sent is acknowledged."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        while not self._is_over.is_set():
            self.begun += 1
            while send(self._service, self.begun) != 200:
                time.sleep(0.05)
            self.stored = self.begun

    def _search(self) -> None:
        while not self._is_over.is_set():
            least = self.stored - self.first
            response = self._service.search(limit=1)
            if response.status_code == 503:
                continue
            found = response.json()["meta"]["total_count"] if response.is_success else -1
            if not least <= found <= self.begun - self.first:
                self.wrong.append((response.status_code, response.text))


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_kills_under_load_lose_nothing(service: RunningService, kills: int) -> None:
    service.http.post("/traces/delete", json={"filter": {}}).raise_for_status()
    chooser = random.Random(7)
    load = Load(service)
    for _ in range(kills):
        killed = chooser.choice(shard_processes(service.process.pid))
        os.kill(killed, signal.SIGKILL)
        acknowledged, deadline = load.stored, time.monotonic() + WAIT_SECONDS
        while load.stored == acknowledged or killed in shard_processes(service.process.pid):
            assert time.monotonic() < deadline, (killed, load.stored)
            time.sleep(0.05)
        service.wait_until_ready()
        assert len(shard_processes(service.process.pid)) == SHARDS
    load.end()
    assert load.wrong == []
    assert sorted(service.trace_ids()) == [f"{number:032x}" for number in range(load.first + 1, load.stored + 1)]


def test_the_folder_of_ray_is_closed_to_others_and_goes_after_a_kill() -> None:
    with tempfile.TemporaryDirectory() as parent:  # the folder contains sockets, whose paths must be short
        with RunningService(Path(parent) / "data", *CLUSTER, TMPDIR=parent) as killed:
            (left,) = Path(parent).glob("spanwise-ray-*")
            assert left.stat().st_mode & 0o777 == 0o700
            processes = descendants(killed.process.pid)
            killed.kill()
            wait_until_gone(processes)
            assert left.exists()
        with RunningService(Path(parent) / "data", *CLUSTER, TMPDIR=parent) as after:
            (own,) = Path(parent).glob("spanwise-ray-*")
            assert own != left
            assert after.stop() == 0
            assert not own.exists()
