"""During a shutdown requests finish or get a 503, and no acknowledged data is lost."""

from __future__ import annotations

import signal
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from support.clients.otlp import export_request
from support.clients.websocket import open_websocket
from support.services.hosted import start_hosted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.services.process import RunningService

JSON = {"Content-Type": "application/json"}
EXPORT = export_request("a" * 32, "b" * 16)


def head(method: str, path: str, length: int = 0) -> bytes:
    named = f"Content-Type: application/json\r\nContent-Length: {length}\r\n" if length else ""
    return f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{named}\r\n".encode()


# The bytes sent before and after the signal, and the allowed starts of the responses. An empty response belongs to a
# connection that ended before the service accepted a request. Its client retries as after any broken connection.
FINISHED = (b"HTTP/1.1 200 ", b"HTTP/1.1 503 ")
CONFIRMATIONS = {
    "an export that is half sent": (head("POST", "/v1/traces", len(EXPORT)) + EXPORT[:40], EXPORT[40:], FINISHED),
    "a search that is half sent": (head("POST", "/traces/search", 2) + b"{", b"}", FINISHED),
    "a head that is half sent": (b"GET /health HTTP/1.1\r\n", b"Host: localhost\r\n\r\n", (*FINISHED, b"")),
    "a connection that said nothing": (b"", head("GET", "/health"), (*FINISHED, b"")),
    "a second request": (head("GET", "/health"), head("GET", "/traces"), (*FINISHED, b"")),
}


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def read_all(connection: socket.socket) -> bytes:
    response = b""
    try:
        while piece := connection.recv(65536):
            response += piece
    except ConnectionError:
        pass
    return response


def test_requests_in_flight_at_the_signal_finish_or_get_503(start: Callable[..., RunningService]) -> None:
    service = start()
    connections = {}
    for case, (before, _, _) in CONFIRMATIONS.items():
        connections[case] = connection = socket.create_connection(("127.0.0.1", service.port), 20)
        connection.sendall(before)
        if case == "a second request":
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert service.http.get("/health").status_code == 200  # the earlier bytes have arrived
    service.process.send_signal(signal.SIGTERM)
    time.sleep(0.2)
    for case, (_, after, expected) in CONFIRMATIONS.items():
        with connections[case] as connection:
            try:
                connection.sendall(after)
            except ConnectionError:
                assert b"" in expected, case
                continue
            response = read_all(connection)
        assert response[:13] in expected, (case, response[:300])
        if response.startswith(b"HTTP/1.1 503 "):
            assert b"\r\nretry-after: 1\r\n" in response.lower(), (case, response[:300])
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{service.url}/health")
    assert service.process.wait(15) == 0, service.log.read_text()
    assert all(event["level"] == "info" or "authorization is off" in event["message"] for event in service.events())


def test_a_stalled_body_delays_the_shutdown_no_longer_than_its_limit(start: Callable[..., RunningService]) -> None:
    service = start("--drain-seconds", "0.5")
    with socket.create_connection(("127.0.0.1", service.port), 20) as connection:
        connection.sendall(head("POST", "/v1/traces", len(EXPORT)) + EXPORT[:40])
        assert service.http.get("/health").status_code == 200
        assert service.stop() == 0, service.log.read_text()
        assert read_all(connection)[:13] in {b"", b"HTTP/1.1 503 "}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_hurries_the_end_and_loses_nothing(
    start: Callable[..., RunningService], number: signal.Signals
) -> None:
    """The rest of an export is dropped and the stores are closed normally. The exit code means a clean stop."""
    service = start("--drain-seconds", "60")
    service.http.post("/v1/traces", content=EXPORT, headers=JSON).raise_for_status()
    with socket.create_connection(("127.0.0.1", service.port), 20) as connection:
        connection.sendall(head("POST", "/v1/traces", len(EXPORT)) + EXPORT[:40])
        assert service.http.get("/health").status_code == 200
        service.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        assert service.process.poll() is None
        service.process.send_signal(number)
        assert service.process.wait(30) == 0, service.log.read_text()
        assert read_all(connection)[:13] in {b"", b"HTTP/1.1 503 "}
    assert service.events()[-1]["message"] == "stopped"
    assert start().trace_ids() == ["a" * 32]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("count", [2, 3])
def test_what_cannot_be_closed_after_a_second_signal_is_cut_and_nothing_is_lost(
    tmp_path: Path, number: signal.Signals, count: int
) -> None:
    """A run had to be killed, so the exit code is the same as without handlers."""
    with start_hosted(tmp_path, "--drain-seconds", "60", module="support.apps.deaf") as service:
        service.http.post("/v1/traces", content=EXPORT, headers=JSON).raise_for_status()
        form = {"message": "x", "stream": "false", "background": "true"}
        begun = service.http.post("/agents/deaf/runs", data=form).raise_for_status().json()
        for _ in range(count):
            service.process.send_signal(number)
            time.sleep(0.2)
        assert service.process.wait(30) == 128 + number, service.log.read_text()
        last = service.events()[-1]
        assert (last["level"], last["message"]) == (
            "warning",
            "stopped before all work was finished; acknowledged data is durable",
        )
    with start_hosted(tmp_path, module="support.apps.deaf") as service:
        assert "a" * 32 in service.trace_ids()
        cut = service.http.get(f"/agents/deaf/runs/{begun['run_id']}", params={"session_id": begun["session_id"]})
        assert cut.raise_for_status().json()["status"] == "ERROR"


def test_signals_at_every_moment_of_a_stop_lose_nothing_that_was_acknowledged(
    start: Callable[..., RunningService],
) -> None:
    acknowledged = set[str]()
    for round_number in range(4):
        service = start("--drain-seconds", "60")
        ended = threading.Event()

        def write(first: int, service: RunningService = service, ended: threading.Event = ended) -> None:
            for number in range(first, first + 100_000):
                trace_id = f"{number:032x}"
                try:
                    sent = httpx.post(
                        f"{service.url}/v1/traces", content=export_request(trace_id, "b" * 16), headers=JSON, timeout=20
                    )
                except httpx.TransportError:
                    if ended.is_set():
                        return
                    continue
                if sent.is_success:
                    acknowledged.add(trace_id)

        writers = [threading.Thread(target=write, args=((1 + 4 * round_number + each) << 32,)) for each in range(4)]
        for writer in writers:
            writer.start()
        try:
            goal = len(acknowledged) + 20
            wait_until(lambda goal=goal: len(acknowledged) >= goal)  # type: ignore[misc]  # bound now, not later
            for _ in range(2 + round_number % 2):
                service.process.send_signal(signal.SIGTERM)
                time.sleep(0.02 * round_number)
            code = service.process.wait(30)
        finally:
            ended.set()
            for writer in writers:
                writer.join()
        has_stopped = service.events()[-1]["message"] == "stopped"
        assert code == (0 if has_stopped else 128 + signal.SIGTERM), service.log.read_text()
    assert acknowledged <= set(start().trace_ids())


def test_signals_after_the_last_line_change_nothing(start: Callable[..., RunningService]) -> None:
    """The interpreter takes a while to exit, without handlers."""
    service = start()
    service.process.send_signal(signal.SIGTERM)
    wait_until(lambda: '"stopped"' in service.log.read_text())
    while service.process.poll() is None:
        service.process.send_signal(signal.SIGTERM)
    assert service.process.returncode == 0, service.log.read_text()


def test_a_signal_before_it_is_ready_ends_it_too(start: Callable[..., RunningService]) -> None:
    first = start()
    for number in range(1, 200):
        body = export_request(f"{number:032x}", "b" * 16)
        first.http.post("/v1/traces", content=body, headers=JSON).raise_for_status()
    first.kill()
    second = start(is_ready=False)
    wait_until(lambda: second.log.read_text().count("listening on") == 2)
    assert second.stop() == 0, second.log.read_text()
    assert len(start().trace_ids()) == 199


def test_streams_end_with_the_service(tmp_path: Path) -> None:
    with start_hosted(tmp_path, "--drain-seconds", "2") as service:
        begun, ended = set[int](), set[int]()

        def follow(number: int) -> None:
            with httpx.stream("POST", f"{service.url}/agents/slow/runs", data={"message": "x"}, timeout=60) as response:
                assert response.status_code == 200
                with suppress(httpx.RemoteProtocolError):
                    begun.update(number for _ in response.iter_raw())
            ended.add(number)

        followers = [threading.Thread(target=follow, args=(number,)) for number in range(20)]
        for follower in followers:
            follower.start()
        wait_until(lambda: len(begun) == len(followers))
        assert service.stop() == 0, service.log.read_text()
        for follower in followers:
            follower.join()
        assert ended == begun


def send(port: int, trace_id: str) -> str:
    """Sends a request with retries, as OTLP exporters do, and returns the outcome."""
    body = export_request(trace_id, "b" * 16)
    while True:
        try:
            response = httpx.post(f"http://127.0.0.1:{port}/v1/traces", content=body, headers=JSON, timeout=20)
        except httpx.TransportError:
            time.sleep(0.02)
            continue
        if response.status_code != 503:
            return trace_id if response.status_code == 200 else response.text
        assert response.headers["retry-after"] == "1"


def test_clients_that_retry_lose_nothing_over_restarts(start: Callable[..., RunningService]) -> None:
    service = start()
    port, sent, done = service.port, list[str](), threading.Event()

    def write(number: int) -> None:
        while not done.is_set():
            number += 1
            sent.append(send(port, f"{number:032x}"))

    writers = [threading.Thread(target=write, args=(number * 1_000_000,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for _ in range(2):
        goal = len(sent) + 20
        wait_until(lambda goal=goal: len(sent) >= goal)  # type: ignore[misc]  # bound now, not later
        assert service.stop() == 0, service.log.read_text()
        service = start("--port", str(port), is_ready=False)
        service.port, service.url = port, f"http://127.0.0.1:{port}"
        service.http = httpx.Client(base_url=service.url, timeout=30)
        service.wait_until_ready()
    done.set()
    for writer in writers:
        writer.join()
    assert sorted(service.trace_ids()) == sorted(sent)
    assert service.stop() == 0


def test_no_run_and_no_socket_begins_after_the_signal(tmp_path: Path) -> None:
    """An open socket that follows a run keeps the port open in the meantime."""
    with start_hosted(tmp_path) as service, open_websocket(service) as following:
        following.send("start-workflow", workflow_id="slow", message="x")
        assert following.receive()["event"] == "WorkflowStarted"
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: service.http.get("/health?ready=true").status_code == 503)
        ready = service.http.get("/health?ready=true").json()
        assert ready["detail"] == "not ready: the service is shutting down"
        for stream in ("true", "false"):
            rejected = service.http.post("/agents/echo/runs", data={"message": "x", "stream": stream})
            assert (rejected.status_code, rejected.headers["retry-after"]) == (503, "1")
            assert rejected.json()["detail"] == "the service is shutting down"
        with pytest.raises(InvalidStatus, match="503"), open_websocket(service):
            pass
        assert service.http.get("/health").status_code == 200
        assert service.search().status_code == 200
        assert service.process.wait(15) == 0, service.log.read_text()


def not_ready(service: RunningService) -> str:
    """Returns why the service is not ready; empty if it is."""
    response = service.http.get("/health?ready=true")
    return "" if response.is_success else str(response.json()["detail"])


def test_readiness_tells_ingest_from_search(start: Callable[..., RunningService]) -> None:
    service = start()
    service.http.post("/v1/traces", content=EXPORT, headers=JSON).raise_for_status()
    wal = service.data_dir / "traces" / "wal"
    wal.rename(wal.with_name("away"))
    wal.touch()
    assert (
        not_ready(service) == "not ready: ingest: the write-ahead log of a store cannot be written; searches are served"
    )
    assert service.trace_ids() == ["a" * 32]
    assert service.http.get("/health").status_code == 200
    wal.unlink()
    wal.with_name("away").rename(wal)
    assert not_ready(service) == ""
    assert service.stop() == 0


def test_a_service_whose_writes_fail_is_not_ready(start: Callable[..., RunningService]) -> None:
    service = start()
    wal = service.data_dir / "traces" / "wal"
    wal.rename(wal.with_name("away"))
    wal.touch()
    assert service.http.post("/v1/traces", content=EXPORT, headers=JSON).status_code == 503
    assert not_ready(service).startswith("not ready: ingest: ")
    assert service.search().status_code == 200


def test_it_is_not_ready_while_the_disk_is_too_full(start: Callable[..., RunningService]) -> None:
    service = start("--min-free-bytes", str(2**60), is_ready=False)
    wait_until(lambda: '"ready"' in service.log.read_text())
    assert not_ready(service).startswith("not ready: ingest: the disk of a store has less than ")
    assert service.search().status_code == 200
    assert service.http.post("/v1/traces", content=EXPORT, headers=JSON).status_code == 503
