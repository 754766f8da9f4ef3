"""Hostile gRPC clients: nothing crashes, memory stays bounded, writes are never partial, and others are served."""

from __future__ import annotations

import gzip
import random
import socket
import struct
import threading
import time
import zlib
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hpack import Encoder

from support.clients.grpc import (
    CHECK,
    EXPORT,
    OK,
    RESOURCE_EXHAUSTED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    export_message,
    framed,
)
from support.clients.tokens import as_admin, as_caller, jwks_file
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.services.process import RunningService
    from support.services.receiver import Receiver

MEBIBYTE = 1024 * 1024
GROWTH_BYTES = 192 * MEBIBYTE
"""The memory limit for any attack. It is below the budgets of requests that are decoded."""
ENHANCE_YOUR_CALM, NO_ERROR = 11, 0
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION, DATA = 1, 3, 4, 6, 8, 9, 0
SPAN = "b" * 16
BLOCK = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", EXPORT),
    (":authority", "localhost"),
    ("content-type", "application/grpc"),
]


def resident_bytes(service: RunningService) -> int:
    lines = Path(f"/proc/{service.process.pid}/status").read_text("utf-8").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS:")).split()[1]) * 1024


def body_bytes(service: RunningService) -> int:
    lines = service.http.get("/metrics").text.splitlines()
    (line,) = [line for line in lines if line.startswith('spanwise_request_buffer_bytes{kind="ingest"}')]
    return int(float(line.rpartition(" ")[2]))


@contextmanager
def survives(service: RunningService, headers: dict[str, str] | None = None) -> Iterator[None]:
    """Checks that memory stays bounded during the block, and that searches are served during and after it."""
    before, ended, failures, highest = resident_bytes(service), threading.Event(), [], [0]

    def search() -> None:
        while not ended.is_set():
            response = service.http.post("/traces/search", json={}, headers=headers)
            if response.status_code != 200:
                failures.append(response.text)
            highest[0] = max(highest[0], resident_bytes(service))
            ended.wait(0.02)

    searching = threading.Thread(target=search)
    searching.start()
    try:
        yield
    finally:
        ended.set()
        searching.join()
    assert failures == []
    assert highest[0] - before < GROWTH_BYTES
    assert service.http.post("/traces/search", json={}, headers=headers).status_code == 200
    levels = {event["level"] for event in service.events()}
    assert levels <= {"info", "warning"}, service.log.read_text()


def frame(kind: int, stream_id: int = 0, payload: bytes = b"", flags: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream_id) + payload


@contextmanager
def raw(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(PREFACE)
        yield connection


def goaway_of(connection: socket.socket) -> int | None:
    """Returns the code with which the server ends a connection; None without a code."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionError:
        pass
    while len(received) >= 9:
        length, kind = int.from_bytes(received[:3]), received[3]
        if kind == 7:
            return int.from_bytes(received[13:17])
        received = received[9 + length :]
    return None


def flood(connection: socket.socket, pieces: Iterator[bytes]) -> None:
    """Sends pieces until the server closes the connection."""
    try:
        for piece in pieces:
            connection.sendall(piece)
    except OSError:
        return


def resets() -> Iterator[bytes]:
    encoder = Encoder()
    for number in range(100_000):
        stream_id = 2 * number + 1
        headers = frame(HEADERS, stream_id, encoder.encode(BLOCK), flags=4)
        yield headers + frame(RST_STREAM, stream_id, struct.pack(">I", 8))


def bytes_of_data() -> Iterator[bytes]:
    yield frame(HEADERS, 1, Encoder().encode(BLOCK), flags=4) + frame(DATA, 1, b"\0\0\1\0\0")
    for _ in range(100_000):
        yield frame(DATA, 1, b"x")


def repeated(piece: bytes) -> Iterator[bytes]:
    for _ in range(5_000):
        yield piece * 100


FLOODS: dict[str, Callable[[], Iterator[bytes]]] = {
    "resets": resets,
    "single bytes": bytes_of_data,
    "pings": lambda: repeated(frame(PING, 0, b"12345678")),
    "settings": lambda: repeated(frame(SETTINGS)),
    "window updates": lambda: repeated(frame(WINDOW_UPDATE, 0, struct.pack(">I", 1))),
    "unknown frames": lambda: repeated(frame(0x77)),
    "priorities": lambda: repeated(frame(2, 1, b"\0\0\0\0\1")),
    "continued headers": lambda: iter(
        [frame(HEADERS, 1, b"\x40"), *(frame(CONTINUATION, 1, b"a" * 8000) for _ in range(100))]
    ),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_frames_ends_its_connection(guarded: Receiver, name: str) -> None:
    with survives(guarded.service, as_admin()):
        for _ in range(5):
            with raw(guarded.port) as connection:
                flood(connection, FLOODS[name]())
                assert goaway_of(connection) in {ENHANCE_YOUR_CALM, NO_ERROR, None}


def test_bytes_that_are_no_frames_end_their_connection(guarded: Receiver) -> None:
    preface = PREFACE[:24]
    broken = [
        b"\0",
        b"\xff" * 1000,
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        PREFACE[:10],
        preface + frame(HEADERS, 2, b"\x82", flags=4),
        preface + frame(HEADERS, 0, b"\x82", flags=4),
        preface + frame(DATA, 1, b"x"),
        preface + frame(SETTINGS, 0, b"\0\3\0\0"),
        PREFACE + frame(HEADERS, 1, b"\xff\xff\xff\xff\xff", flags=4),
        PREFACE + frame(HEADERS, 1, b"\x82", flags=4),
        PREFACE + frame(HEADERS, 1, Encoder().encode([*BLOCK, ("x", "y" * 40_000)])[:16_000], flags=4),
        PREFACE + frame(WINDOW_UPDATE, 0, b"\0\0\0\0"),
        PREFACE + frame(PING, 0, b"1"),
        PREFACE + b"\xff\xff\xff\0\0\0\0\0\1",
        PREFACE + frame(5, 1, b"\0\0\0\2\x82"),
    ]
    with survives(guarded.service, as_admin()):
        for data in broken:
            with socket.create_connection(("127.0.0.1", guarded.port), timeout=30) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                goaway_of(connection)


def test_frames_at_random_end_at_most_their_connection(open_one: Receiver) -> None:
    draw = random.Random(1)
    with survives(open_one.service):
        for _ in range(300):
            encoder, last = Encoder(), 1
            with raw(open_one.port) as connection:
                frames = [frame(HEADERS, 1, encoder.encode(BLOCK), flags=4)]
                for _ in range(draw.randrange(1, 30)):
                    kind = draw.choice(
                        [DATA, HEADERS, 2, RST_STREAM, SETTINGS, 5, PING, 7, WINDOW_UPDATE, CONTINUATION, 0x77]
                    )
                    if kind == HEADERS and draw.random() < 0.7:
                        last += 2
                        frames.append(frame(HEADERS, last, encoder.encode(BLOCK), flags=draw.choice([4, 5])))
                    else:
                        size = draw.choice([0, 0, 1, 4, 4, 5, 6, 8, 30])
                        stream_id = draw.choice([0, 1, last, last, 2, last + 2])
                        frames.append(
                            frame(kind, stream_id, draw.randbytes(size), draw.choice([0, 0, 1, 4, 5, 8, 0x29]))
                        )
                flood(connection, iter(frames))
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)
                goaway_of(connection)
    with open_one.connect() as client:
        assert client.call(b"").code == OK


def test_callers_without_a_token_are_rejected_before_their_message_is_whole(
    receive: Callable[..., Receiver], tmp_path: Path
) -> None:
    """At most one window of each message is accepted, and received bytes are dropped with the call."""
    receiver = receive("--authorization", "--unknown-processor-share", "1", JWT_JWKS_FILE=jwks_file(tmp_path))
    codes = []
    with survives(receiver.service, as_admin()), ExitStack() as opened:
        for _ in range(100):
            client = opened.enter_context(receiver.connect())
            client.settle()
            stream_id = client.begin()
            size = min(client.h2.local_flow_control_window(stream_id), client.h2.max_outbound_frame_size)
            client.send(stream_id, framed(b"\0" * 1_000_000)[:size], is_last=False)
            codes.append(client.reply(stream_id).code)
    assert UNAUTHENTICATED in codes
    assert set(codes) <= {UNAUTHENTICATED, UNAVAILABLE}


@pytest.mark.parametrize(
    "metadata",
    [{}, {"authorization": "Bearer nonsense"}, as_caller("reader", "traces:read")],
    ids=["no token", "no valid token", "no scope to write"],
)
def test_whoever_may_not_write_stores_nothing(guarded: Receiver, metadata: dict[str, str]) -> None:
    # The service knows this token afterwards. Another token would count as an unknown caller of the flooding address.
    admin = as_admin()
    with survives(guarded.service, admin), guarded.connect() as client:
        for number in range(50):
            assert client.call(export_message(f"{number + 1:032x}", SPAN), metadata).code != OK
            assert client.call(b"", metadata, path=f"/nope/{number}").code != OK
    found = guarded.service.http.post("/traces/search", json={}, headers=admin).json()
    assert found["meta"]["total_count"] == 0


def test_a_thousand_connections(open_one: Receiver) -> None:
    with survives(open_one.service), ExitStack() as opened:
        for _ in range(1000):
            opened.enter_context(raw(open_one.port))
        with open_one.connect() as client:
            assert client.call(export_message("a" * 32, SPAN)).code == OK
            assert client.call(b"", path=CHECK).code == OK


def test_cut_streams_store_nothing_by_half(open_one: Receiver) -> None:
    message = framed(export_message("c" * 32, SPAN, text="x" * 100_000))
    with survives(open_one.service):
        for size in (0, 1, 4, 5, 100, 20_000, len(message) - 1):
            with open_one.connect() as client:
                client.send(client.begin(), message[:size], is_last=False)
            with open_one.connect() as client:
                stream_id = client.begin()
                client.send(stream_id, message[:size], is_last=False)
                client.h2.reset_stream(stream_id, 8)
                client.flush()
                assert client.call(b"").code == OK
    assert "c" * 32 not in open_one.service.trace_ids()


def test_giant_messages_are_rejected_as_they_are_announced(open_one: Receiver) -> None:
    with survives(open_one.service):
        for length in (20 * MEBIBYTE + 1, 2**32 - 1):
            with open_one.connect() as client:
                stream_id = client.begin()
                client.send(stream_id, struct.pack(">BI", 0, length) + bytes(MEBIBYTE), is_last=False)
                assert client.reply(stream_id).code == RESOURCE_EXHAUSTED
                assert client.call(b"").code == OK


def test_messages_that_do_not_end_share_one_budget(receive: Callable[..., Receiver]) -> None:
    """Bytes count from their arrival until the end of their call."""
    receiver = receive("--ingest-buffer-bytes", str(4 * MEBIBYTE))
    begun = struct.pack(">BI", 0, 10 * MEBIBYTE) + bytes(3 * MEBIBYTE)
    message = export_message("d" * 32, SPAN, text="x" * 3_000_000)
    with survives(receiver.service):
        with receiver.connect() as first, receiver.connect() as second:
            first.send(first.begin(), begun, is_last=False)
            wait_until(lambda: body_bytes(receiver.service) >= 3 * MEBIBYTE)
            assert second.call(message).code == UNAVAILABLE
        wait_until(lambda: body_bytes(receiver.service) == 0)
        with receiver.connect() as client:
            assert client.call(message).code == OK
    assert receiver.service.trace_ids() == ["d" * 32]


@pytest.mark.parametrize("compression", ["gzip", "deflate"])
def test_compression_bombs_are_rejected(open_one: Receiver, compression: str) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if compression == "gzip" else 15)
    zeros = bytes(MEBIBYTE)
    bomb = b"".join(packer.compress(zeros) for _ in range(256)) + packer.flush()
    with survives(open_one.service), open_one.connect() as client:
        for _ in range(3):
            stream_id = client.begin(metadata={"grpc-encoding": compression})
            client.send(stream_id, framed(bomb, is_compressed=True))
            assert client.reply(stream_id).code == RESOURCE_EXHAUSTED
        assert client.call(export_message("e" * 32, SPAN), compression="gzip").code == OK


def test_a_message_that_is_not_compressed_as_it_says_is_rejected(open_one: Receiver) -> None:
    message = export_message("f" * 32, SPAN)
    cases = [
        ("gzip", message),
        ("gzip", gzip.compress(message)[:-20]),
        ("deflate", gzip.compress(message)),
        ("identity", gzip.compress(message)),
        ("gzip", b""),
    ]
    with survives(open_one.service), open_one.connect() as client:
        for encoding, data in cases:
            stream_id = client.begin(metadata={"grpc-encoding": encoding})
            client.send(stream_id, framed(data, is_compressed=True))
            assert client.reply(stream_id).code != OK, encoding
    assert "f" * 32 not in open_one.service.trace_ids()


def test_more_calls_than_allowed_end_the_connection(open_one: Receiver) -> None:
    with survives(open_one.service), raw(open_one.port) as connection:
        encoder = Encoder()
        for number in range(200):
            connection.sendall(frame(HEADERS, 2 * number + 1, encoder.encode(BLOCK), flags=4))
        assert goaway_of(connection) is not None


def test_a_client_that_reads_no_response_is_disconnected(receive: Callable[..., Receiver]) -> None:
    receiver = receive("--write-deadline-seconds", "1", "--body-deadline-seconds", "1")
    with survives(receiver.service), raw(receiver.port) as connection:
        connection.sendall(frame(SETTINGS, 0, struct.pack(">HI", 4, 0)))  # no window for any response
        encoder = Encoder()
        for number in range(100):
            stream_id = 2 * number + 1
            headers = frame(HEADERS, stream_id, encoder.encode(BLOCK), flags=4)
            connection.sendall(headers + frame(DATA, stream_id, framed(b""), flags=1))
        received, deadline = b"", time.monotonic() + 30
        while received.count(frame(RST_STREAM, 199, struct.pack(">I", 8))) == 0:
            assert time.monotonic() < deadline
            received += connection.recv(65536)
    assert receiver.service.stop() == 0


def test_unknown_connections_are_closed_after_a_while(receive: Callable[..., Receiver]) -> None:
    receiver = receive("--header-deadline-seconds", "1")
    with receiver.connect() as client, raw(receiver.port) as silent, receiver.connect() as known:
        assert known.call(b"").code == OK
        assert client.call(b"", path=CHECK).code == OK
        client.wait_until_closed()
        assert client.goaway == 0
        assert goaway_of(silent) == 0
        assert known.call(b"").code == OK


def many_headers() -> Iterator[bytes]:
    encoder = Encoder()
    for number in range(20_000):
        headers = [*BLOCK, *((f"name-{each}", "x") for each in range(90))]
        yield frame(HEADERS, 2 * number + 1, encoder.encode(headers), flags=5)


def small_headers() -> Iterator[bytes]:
    encoder = Encoder()
    for number in range(100_000):
        yield frame(HEADERS, 2 * number + 1, encoder.encode(BLOCK), flags=5)


@pytest.mark.parametrize("flooding", [many_headers, small_headers])
def test_headers_of_unknown_callers_are_within_their_share(
    receive: Callable[..., Receiver], tmp_path: Path, flooding: Callable[[], Iterator[bytes]]
) -> None:
    """A known caller on a separate connection is served, even from the same address."""
    receiver = receive("--authorization", JWT_JWKS_FILE=jwks_file(tmp_path))
    admin = as_admin()
    with survives(receiver.service, admin), receiver.connect() as known:
        assert known.call(export_message("a" * 32, SPAN), admin).code == OK
        for _ in range(5):
            with suppress(OSError), raw(receiver.port) as connection:
                flood(connection, flooding())
                assert goaway_of(connection) in {ENHANCE_YOUR_CALM, NO_ERROR, None}
            assert known.call(export_message("b" * 32, SPAN), admin).code == OK
        metrics = receiver.service.http.get("/metrics", headers=admin).raise_for_status().text
    assert "spanwise_unknown_callers_rejected_total" in metrics


def test_a_call_that_is_rejected_unread_ends_its_connection(receive: Callable[..., Receiver], tmp_path: Path) -> None:
    receiver = receive("--authorization", JWT_JWKS_FILE=jwks_file(tmp_path))
    with survives(receiver.service, as_admin()), receiver.connect() as client:
        with suppress(OSError):  # the connection was closed while the client was sending
            for _ in range(10_000):
                client.call(b"", {"authorization": "Bearer nonsense"})
                if client.is_closed:
                    break
            client.wait_until_closed()
        assert client.goaway in {NO_ERROR, None}
