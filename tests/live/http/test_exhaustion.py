"""Clients that hold resources are disconnected, and all others are served."""

from __future__ import annotations

import resource
import select
import signal
import socket
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from support.clients.otlp import export_request
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.services.process import RunningService

JSON = {"Content-Type": "application/json"}
MEBIBYTE = 1024 * 1024
WAIT_SECONDS = 60


@contextmanager
def crowd(service: RunningService, count: int, receive_bytes: int = 0) -> Iterator[list[socket.socket]]:
    """Yields `count` connections."""
    allowed, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(allowed, count + 512), maximum), maximum))
    with ExitStack() as opened:
        connections = []
        for _ in range(count):
            connection = opened.enter_context(socket.socket())
            if receive_bytes:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            connection.settimeout(WAIT_SECONDS)
            connection.connect(("127.0.0.1", service.port))
            connections.append(connection)
        yield connections


def wait_until_closed(connections: list[socket.socket]) -> None:
    """Waits until the service has closed every connection. Reads the data sent before that."""
    polled = select.poll()
    open_ones = {connection.fileno(): connection for connection in connections}
    for number in open_ones:
        polled.register(number, select.POLLIN)
    deadline = time.monotonic() + WAIT_SECONDS
    while open_ones:
        assert time.monotonic() < deadline, f"{len(open_ones)} of {len(connections)} are open"
        for number, _ in polled.poll(1000):
            try:
                ended = not open_ones[number].recv(65536)
            except ConnectionError:
                ended = True
            if ended:
                polled.unregister(number)
                del open_ones[number]


def test_two_thousand_slow_heads_are_closed_and_block_nobody(start: Callable[..., RunningService]) -> None:
    service = start("--header-deadline-seconds", "2")
    with crowd(service, 2000) as connections:
        for connection in connections:
            connection.send(b"G")
        for _ in range(20):
            assert service.http.get("/health").status_code == 200
        wait_until_closed(connections)
    assert service.search().status_code == 200
    assert service.stop() == 0


@pytest.mark.parametrize("begin", [b"", b"GET /", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_connections_beyond_the_limit_wait_and_are_accepted(start: Callable[..., RunningService], begin: bytes) -> None:
    """Idle connections send nothing, an incomplete request, or nothing after a response."""
    service = start("--max-connections", "8", "--header-deadline-seconds", "1")
    service.http.close()
    with crowd(service, 8) as connections, crowd(service, 200) as waiting:
        for connection in connections:
            connection.sendall(begin)
        for connection in waiting[:20]:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        for connection in waiting[:20]:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        wait_until_closed(connections)
    assert service.stop() == 0


def fill(service: RunningService) -> None:
    """Stores one trace of 12 MiB, more than the kernel buffers for a client that does not read."""
    texts = {f"text{number}": chr(65 + number) * (3 * MEBIBYTE) for number in range(4)}
    export = export_request("a" * 32, "b" * 16, **texts)
    service.http.post("/v1/traces", content=export, headers=JSON).raise_for_status()


ASK = b"GET /traces/" + b"a" * 32 + b" HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n"


def waiting_bytes(service: RunningService) -> int:
    lines = service.http.get("/metrics").text.splitlines()
    (line,) = [line for line in lines if line.startswith("spanwise_response_buffer_bytes ")]
    return int(float(line.rpartition(" ")[2]))


def test_clients_that_do_not_read_are_disconnected(start: Callable[..., RunningService]) -> None:
    """The kernel or the service closes the connection. Only the service logs it."""
    service = start("--write-deadline-seconds", "1")
    fill(service)
    # Few connections, so that the response budget still has room for the metrics.
    with crowd(service, 6, receive_bytes=4096) as connections:
        for connection in connections:
            connection.sendall(ASK)
        wait_until(lambda: waiting_bytes(service) > 0)
        wait_until(lambda: waiting_bytes(service) == 0)
        wait_until_closed(connections)
    response = service.http.get(f"/traces/{'a' * 32}")
    assert len(response.content) > 12 * MEBIBYTE
    assert service.stop() == 0
    assert all(event["level"] in {"info", "warning"} for event in service.events())


def test_a_slow_client_that_reads_gets_its_response(start: Callable[..., RunningService]) -> None:
    service = start("--write-deadline-seconds", "2")
    fill(service)
    with crowd(service, 1, receive_bytes=4096) as (connection,):
        connection.sendall(ASK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        size = 0
        while piece := connection.recv(MEBIBYTE):
            size += len(piece)
            time.sleep(0.0005)
    assert size > 12 * MEBIBYTE
    assert service.stop() == 0


def test_while_too_many_responses_wait_for_clients_others_are_503(start: Callable[..., RunningService]) -> None:
    service = start("--response-buffer-bytes", "1000", "--write-deadline-seconds", "5")
    fill(service)
    with crowd(service, 1, receive_bytes=4096) as (connection,):
        connection.sendall(ASK)
        wait_until(lambda: service.search().status_code == 503)
        response = service.search()
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert response.json()["error_code"] == "SERVICE_UNAVAILABLE"
        assert response.json()["detail"] == "too many response bytes are waiting for slow clients"
        assert service.http.get("/health").status_code == 200
    wait_until(lambda: service.search().status_code == 200)
    assert service.stop() == 0


def test_a_service_that_was_suspended_resumes_and_stores_once(start: Callable[..., RunningService]) -> None:
    service = start()
    with crowd(service, 20) as connections:
        bodies = [export_request(f"{number + 1:032x}", "b" * 16) for number in range(len(connections))]
        head = "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\n"
        head += "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n"
        for connection, body in zip(connections, bodies, strict=True):
            connection.sendall(head.format(len(body)).encode() + body[:50])
        service.process.send_signal(signal.SIGSTOP)
        for connection, body in zip(connections, bodies, strict=True):
            connection.sendall(body[50:])
        time.sleep(0.5)
        service.process.send_signal(signal.SIGCONT)
        for connection in connections:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert sorted(service.trace_ids()) == [f"{number + 1:032x}" for number in range(20)]
    assert service.stop() == 0


PARTS = b'--x\r\nContent-Disposition: form-data; name="message"\r\n' + b"X-A: b\r\n" * 10_000 + b"\r\nhi\r\n--x--\r\n"
FORMS: dict[str, tuple[str, bytes, int, str]] = {
    "100,000 fields": ("application/x-www-form-urlencoded", b"a=b&" * 100_000, 400, "BAD_REQUEST"),
    "one byte more than a form may have": (
        "application/x-www-form-urlencoded",
        b"message=" + b"x" * (10 * MEBIBYTE - 7),
        413,
        "PAYLOAD_TOO_LARGE",
    ),
    "a field of 2 MiB": ("multipart/form-data; boundary=x", b"", 400, "BAD_REQUEST"),
    "a mebibyte of semicolons": ("application/x-www-form-urlencoded", b"a;" * (MEBIBYTE // 2), 422, "VALIDATION_ERROR"),
    "10,000 headers of a part": ("multipart/form-data; boundary=x", PARTS, 400, "BAD_REQUEST"),
    "a boundary of 32 KiB": (f"multipart/form-data; boundary={'x' * 32_768}", b"--xx--\r\n", 400, "BAD_REQUEST"),
    "no boundary": ("multipart/form-data", b"--x--\r\n", 400, "BAD_REQUEST"),
    "a part without an end": ("multipart/form-data; boundary=x", PARTS[:60], 400, "BAD_REQUEST"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_hostile_form_is_rejected(hosted: RunningService, form: str) -> None:
    content_type, body, status, code = FORMS[form]
    if form == "a field of 2 MiB":
        body = b'--x\r\nContent-Disposition: form-data; name="message"\r\n\r\n' + b"y" * 2 * MEBIBYTE + b"\r\n--x--\r\n"
    response = hosted.http.post("/agents/echo/runs", content=body, headers={"Content-Type": content_type})
    assert (response.status_code, response.json()["error_code"]) == (status, code), response.text[:300]
    assert len(response.content) < 1024
    assert hosted.http.get("/health").status_code == 200


def raw(service: RunningService, sent: bytes) -> bytes:
    """Sends bytes and returns everything that the service sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", service.port), WAIT_SECONDS) as connection:
        response = b""
        try:
            connection.sendall(sent)
            while piece := connection.recv(65536):
                response += piece
        except ConnectionError:
            pass
        return response


HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
UPGRADE = b"Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
HEADS = {
    "HTTP/2 from the first byte": (HTTP2 + b"\0\0\0\4\0\0\0\0\0", (b"", b"HTTP/1.1 400 ", b"HTTP/1.1 505 ")),
    "10,000 streams that are reset": (HTTP2 + b"\0\0\4\3\0\0\0\0\1\0\0\0\x08" * 10_000, (b"", b"HTTP/1.1 400 ")),
    "an upgrade to HTTP/2": (GET + UPGRADE + b"\r\n", (b"HTTP/1.1 200 ",)),
    "a head of 16 MiB": (GET + b"X-A: " + b"a" * 16 * MEBIBYTE, (b"", b"HTTP/1.1 431 ")),
    "200 lines": (GET + b"X-A: b\r\n" * 200 + b"\r\n", (b"HTTP/1.1 431 ",)),
    "no method": (b"\r\n\r\n\0\0\0\0", (b"", b"HTTP/1.1 400 ")),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", (b"", b"HTTP/1.1 400 ")),
}


@pytest.mark.parametrize("head", HEADS)
def test_an_invalid_head_is_rejected(hosted: RunningService, head: str) -> None:
    sent, expected = HEADS[head]
    response = raw(hosted, sent)
    assert response[:13] in expected, response[:200]
    assert hosted.http.get("/health").status_code == 200


@pytest.mark.parametrize("lines", [1, 20, 90])
@pytest.mark.parametrize("pieces", [1, 7])
def test_the_size_of_a_head_is_limited_as_documented(hosted: RunningService, lines: int, pieces: int) -> None:
    """Half of the limit always passes; a head over the limit never does."""
    for size, expected in ((31 * 1024, {b"200"}), (64 * 1024 + 200, {b"431", b""}), (100_000, {b"431", b""})):
        line = b"X-A: " + b"a" * (size // lines - 7) + b"\r\n"
        sent = GET + line * lines + b"Connection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", hosted.port), WAIT_SECONDS) as connection:
            response = b""
            try:
                for start in range(0, len(sent), len(sent) // pieces):
                    connection.sendall(sent[start : start + len(sent) // pieces])
                    time.sleep(0.01)
                response = connection.recv(65536)
            except ConnectionError:
                pass
        assert response[9:12] in expected, (size, response[:100])
