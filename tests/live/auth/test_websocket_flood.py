"""Unknown sockets: their resources, their number, and their effect on other callers."""

from __future__ import annotations

import base64
import json
import os
import re
import socket
import struct
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import InvalidStatus

from spanwise.http.websocket.protocol import MAX_MESSAGE_BYTES, MAX_UNKNOWN_MESSAGE_BYTES, MAX_UNKNOWN_SOCKETS
from support.clients.tokens import as_caller, claims, jwks_file, signing_key
from support.clients.websocket import open_websocket
from support.services.hosted import start_hosted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.services.process import RunningService

MEBIBYTE = 1024 * 1024
RUNNING = ("workflows:run",)
TEXT, CONTINUATION, PING, PONG = 1, 0, 9, 10


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("guarded")
    flags = ("--authorization", "--max-websockets", "8", "--unknown-processor-share", "1")
    with start_hosted(folder, *flags, JWT_JWKS_FILE=jwks_file(folder)) as service:
        yield service
        assert service.stop() == 0


def handshake(service: RunningService, address: str = "127.0.0.1", **headers: str) -> socket.socket:
    """Returns a connection from an address after a handshake, before any frame."""
    connection = socket.create_connection(("127.0.0.1", service.port), 20, (address, 0))
    key = base64.b64encode(os.urandom(16)).decode()
    lines = {"Host": "localhost", "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    head = "".join(f"{name}: {value}\r\n" for name, value in {**lines, "Sec-WebSocket-Key": key, **headers}.items())
    connection.sendall(f"GET /workflows/ws HTTP/1.1\r\n{head}\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += connection.recv(1)
    assert answer.startswith(b"HTTP/1.1 101 "), answer
    return connection


def frame(opcode: int, payload: bytes, *, is_last: bool = True, announced: int | None = None) -> bytes:
    """Returns a client's frame. Its mask is zero, so the payload is readable."""
    size = len(payload) if announced is None else announced
    length = bytes([0x80 | size]) if size < 126 else b"\xff" + struct.pack(">Q", size)
    return bytes([opcode | (0x80 if is_last else 0)]) + length + bytes(4) + payload


def send_until_closed(connection: socket.socket, piece: bytes, count: int) -> int:
    """Sends a piece until the service closes the connection or stops reading.

    Returns the number sent, up to `count`.
    """
    connection.settimeout(2)
    for sent in range(count):
        try:
            connection.sendall(piece)
        except OSError:
            return sent
    return count


def close_code(connection: socket.socket) -> int:
    """Reads until the service closes the connection. Returns the code of its close frame; 0 without a frame."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except OSError:
        pass
    found = received.rfind(b"\x88")
    return int.from_bytes(received[found + 2 : found + 4], "big") if found >= 0 else 0


def private_mebibytes(service: RunningService) -> float:
    with open(f"/proc/{service.process.pid}/smaps_rollup", encoding="utf-8") as lines:  # noqa: PTH123  # a kernel file
        return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with a tenth of a core for unknown clients, which knows the tokens `KNOWN`."""
    folder = tmp_path_factory.mktemp("strict")
    flags = ("--authorization",)
    with start_hosted(folder, *flags, JWT_JWKS_FILE=jwks_file(folder)) as service:
        for known in KNOWN.values():
            assert any(service.http.get("/metrics", headers=known).status_code == 200 for _ in range(100))
        yield service
        assert service.stop() == 0


KNOWN = {name: as_caller(name, "metrics:read", *RUNNING) for name in ("busy", "other")}
UNFINISHED = {
    "fragments": (frame(TEXT, b"", is_last=False), frame(CONTINUATION, b"x" * 65536, is_last=False)),
    "one frame": (frame(TEXT, b"", announced=16 * MEBIBYTE), b"x" * 65536),
    "tiny fragments": (frame(TEXT, b"", is_last=False), frame(CONTINUATION, b"x", is_last=False) * 10_000),
}


@pytest.mark.parametrize("case", UNFINISHED)
def test_unfinished_messages_of_unknown_clients_take_no_memory(guarded: RunningService, case: str) -> None:
    begin, piece = UNFINISHED[case]
    before = private_mebibytes(guarded)
    most = before
    with ExitStack() as opened:
        connections = [opened.enter_context(handshake(guarded)) for _ in range(24)]
        for connection in connections:
            connection.sendall(begin)
            assert send_until_closed(connection, piece, 64 * MEBIBYTE // len(piece)) * len(piece) < 16 * MEBIBYTE
            most = max(most, private_mebibytes(guarded))
    assert most - before < 32
    assert guarded.http.get("/health").is_success


def test_a_message_over_the_limit_ends_its_socket(guarded: RunningService) -> None:
    """An unknown client may send enough for the longest token, a known one a mebibyte.

    A known client's message consists of its length only, because the service closes once it knows the length. Unread
    bytes would reset the connection, and the close frame could be lost.
    """
    with handshake(guarded) as connection:
        connection.sendall(frame(TEXT, b"x" * (MAX_UNKNOWN_MESSAGE_BYTES + 1)))
        assert close_code(connection) == 1009
    with open_websocket(guarded, headers=as_caller("large", *RUNNING)) as known:
        known.connection.send(json.dumps({"action": "x"}).ljust(MAX_MESSAGE_BYTES))
        assert known.receive()["event"] == "error"
        known.connection.socket.sendall(frame(TEXT, b"", announced=MAX_MESSAGE_BYTES + 1))
        assert known.close_code() == 1009


def test_a_client_may_send_more_once_it_is_known(guarded: RunningService) -> None:
    with open_websocket(guarded) as late:
        token = signing_key().sign(claims("late", *RUNNING))
        assert late.request("authenticate", token=token)["event"] == "authenticated"
        late.connection.send(json.dumps({"action": "x"}).ljust(MAX_MESSAGE_BYTES))
        assert late.receive()["event"] == "error"


def test_pings_that_are_answered_but_not_read_take_no_memory(guarded: RunningService) -> None:
    before = private_mebibytes(guarded)
    with handshake(guarded, **as_caller("pinging", *RUNNING)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        assert send_until_closed(connection, frame(PING, b"x" * 125) * 50, 20_000) < 20_000, "nobody stopped reading"
        assert private_mebibytes(guarded) - before < 16


def test_nothing_that_follows_the_handshake_at_once_is_lost(guarded: RunningService) -> None:
    for number in range(200):
        with handshake(guarded, **as_caller(f"quick{number % 4}", *RUNNING)) as connection:
            connection.sendall(frame(TEXT, b'{"action":"ping"}'))
            connection.settimeout(10)
            received = b""
            while b'"pong"' not in received:
                piece = connection.recv(65536)
                assert piece, received
                received += piece


def test_unknown_clients_take_no_place_of_known_ones_and_the_oldest_is_shed(guarded: RunningService) -> None:
    with ExitStack() as opened:
        crowd = [opened.enter_context(handshake(guarded)) for _ in range(MAX_UNKNOWN_SOCKETS + 10)]
        known = opened.enter_context(open_websocket(guarded, headers=as_caller("known", *RUNNING)))
        assert known.request("ping") == {"event": "pong"}
        late = opened.enter_context(open_websocket(guarded))
        token = signing_key().sign(claims("known", *RUNNING))
        assert late.request("authenticate", token=token)["event"] == "authenticated"
        for shed in crowd[:10]:
            assert close_code(shed) == 1013
        crowd[-1].settimeout(5)
        assert b'"connected"' in crowd[-1].recv(65536)


def test_a_client_that_says_nothing_is_closed_within_seconds(guarded: RunningService) -> None:
    with handshake(guarded) as silent:
        begun = time.monotonic()
        assert close_code(silent) == 1008
        assert time.monotonic() - begun < 20


def test_one_user_does_not_take_the_places_of_others(guarded: RunningService) -> None:
    with ExitStack() as opened:
        for _ in range(6):  # three quarters of eight
            opened.enter_context(handshake(guarded, **as_caller("greedy", *RUNNING)))
        with (
            pytest.raises(InvalidStatus, match="503"),
            open_websocket(guarded, headers=as_caller("greedy", *RUNNING)),
        ):
            pass
        other = opened.enter_context(open_websocket(guarded, headers=as_caller("other", *RUNNING)))
        assert other.request("ping") == {"event": "pong"}


@pytest.mark.parametrize(
    "header",
    ["", "Origin: http://elsewhere.example\r\n", "Authorization: Bearer none\r\n"],
    ids=["accepted", "rejected for its origin", "rejected for its token"],
)
def test_clients_that_leave_during_the_handshake_harm_nobody(guarded: RunningService, header: str) -> None:
    lines = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n"
    head = f"GET /workflows/ws HTTP/1.1\r\nHost: localhost\r\n{lines}{header}\r\n".encode()
    for number in range(200):
        with socket.create_connection(("127.0.0.1", guarded.port), 20) as connection:
            connection.sendall(head)
            if number % 4 > 1:
                time.sleep(number % 10 / 1000)
            if number % 2:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with open_websocket(guarded, headers=as_caller("after", *RUNNING)) as after:
        assert after.request("ping") == {"event": "pong"}
    assert all(event["level"] in {"info", "warning"} for event in guarded.events())


FRAMES = {
    "pings": (b"", frame(PING, b"")),
    "pongs": (b"", frame(PONG, b"")),
    "empty continuations": (frame(TEXT, b"", is_last=False), frame(CONTINUATION, b"", is_last=False)),
    "bytes one by one": (frame(TEXT, b"", is_last=False), frame(CONTINUATION, b"x", is_last=False)),
    "messages": (b"", frame(TEXT, b"[")),
    "members that are given twice": (b"", frame(TEXT, b'{"a":1,"a":1}'.ljust(8_000))),
}
"""By name: the first frames of a client, and a frame that it repeats."""


def seconds_of_unknown_clients(service: RunningService) -> float:
    text = service.http.get("/metrics", headers=KNOWN["other"]).raise_for_status().text
    return sum(map(float, re.findall(r"^spanwise_unknown_callers_processor_seconds_total (.+)$", text, re.MULTILINE)))


@pytest.mark.parametrize("case", FRAMES)
def test_frames_of_unknown_clients_are_within_their_share(strict: RunningService, case: str) -> None:
    begin, piece = FRAMES[case]
    before = seconds_of_unknown_clients(strict)
    with handshake(strict, f"127.0.1.{list(FRAMES).index(case) + 1}") as connection:
        connection.sendall(begin)
        assert send_until_closed(connection, piece * 100, 20_000) < 20_000
        assert close_code(connection) in {0, 1008, 1013}, "0 if the close frame was lost with the connection"
    assert seconds_of_unknown_clients(strict) > before
    with open_websocket(strict, headers=KNOWN["other"]) as other:
        assert other.request("ping") == {"event": "pong"}


@pytest.mark.parametrize("case", ["pongs", "empty continuations", "bytes one by one"])
def test_frames_of_a_known_client_slow_it_alone(strict: RunningService, case: str) -> None:
    begin, piece = FRAMES[case]
    with (
        open_websocket(strict, headers=KNOWN["busy"]) as busy,
        open_websocket(strict, headers=KNOWN["other"]) as other,
    ):
        raw = busy.connection.socket
        raw.sendall(begin)
        for _ in range(50):
            raw.sendall(piece * 2_000)
            assert other.request("ping") == {"event": "pong"}
        raw.sendall(frame(CONTINUATION, b"") if begin else b"")
        if begin:
            assert busy.receive()["event"] == "error"
        raw.sendall(frame(TEXT, b'{"action":"ping"}'))
        assert busy.receive() == {"event": "pong"}
