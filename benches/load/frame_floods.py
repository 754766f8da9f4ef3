"""Floods of frames over persistent connections, for `floods.py`."""

from __future__ import annotations

import asyncio
import base64
import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from hpack import Encoder

if TYPE_CHECKING:
    from collections.abc import Callable

AUTHORIZATION = os.environ.get("BENCH_AUTHORIZATION", "")
"""The `Authorization` of the caller that floods with a token. The processes that send it inherit it."""
RETRY_SECONDS = 0.1
SMALL_CALLS = 20
"""Calls in one piece."""

_KEY = base64.b64encode(bytes(16)).decode()
UPGRADE = f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {_KEY}\r\n"
TEXT, CONTINUATION, PING, PONG = 1, 0, 9, 10
DATA, HEADERS, RST_STREAM, SETTINGS, H2_PING = 0, 1, 3, 4, 6


class FrameFlood(NamedTuple):
    """The pieces that one kind of attacker sends over persistent connections.

    Attributes:
        rate: pieces per second, over all connections.
        connections: the number of connections. A closed one is opened again.
        begin: the bytes sent first.
        piece: returns the bytes of a piece, given its number in its connection.
        is_grpc: True if they are sent to the gRPC port.
    """

    rate: int
    connections: int
    begin: bytes
    piece: Callable[[int], bytes]
    is_grpc: bool = False


def _handshake(authorization: str = "") -> bytes:
    token = f"Authorization: {authorization}\r\n" if authorization else ""
    return f"GET /workflows/ws HTTP/1.1\r\nHost: localhost\r\n{UPGRADE}{token}\r\n".encode()


def _frame(opcode: int, payload: bytes = b"", *, is_last: bool = True) -> bytes:
    """Returns a client's frame, whose mask is zero."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size)
    return bytes([opcode | (0x80 if is_last else 0)]) + length + bytes(4) + payload


def _members() -> bytes:
    """Returns a message of 16 KB that repeats its last member."""
    names = ",".join(f'"m{number}":1' for number in range(1500))
    return f'{{{names},"m1499":1}}'.encode()


def _sockets(rate: int, piece: bytes, *, begin: bytes = b"", authorization: str = "") -> FrameFlood:
    return FrameFlood(rate, 8, _handshake(authorization) + begin, lambda _: piece)


_OPEN = _frame(TEXT, is_last=False)
_PIECES = {
    "pings": (b"", _frame(PING) * 500),
    "pongs": (b"", _frame(PONG) * 500),
    "empty parts of messages": (_OPEN, _frame(CONTINUATION, is_last=False) * 500),
    "messages byte by byte": (_OPEN, _frame(CONTINUATION, b"x", is_last=False) * 400),
    "members given twice": (b"", _frame(TEXT, _members())),
}
_RATES = {"members given twice": 10}


def _h2_frame(kind: int, stream_id: int, payload: bytes = b"", flags: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream_id) + payload


_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _h2_frame(SETTINGS, 0)
_CALL = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/opentelemetry.proto.collector.trace.v1.TraceService/Export"),
    (":authority", "localhost"),
    ("content-type", "application/grpc"),
]


def _block(headers: int) -> bytes:
    """Returns the headers of a call, encoded so that they can be sent repeatedly."""
    encoder = Encoder()
    encoder.header_table_size = 0
    return encoder.encode([*_CALL, *((f"name-{number}", "value") for number in range(headers))])


def _calls(block: bytes, count: int, *, is_reset: bool = False) -> Callable[[int], bytes]:
    def piece(number: int) -> bytes:
        ids = range(2 * count * number + 1, 2 * count * (number + 1) + 1, 2)
        reset = [_h2_frame(RST_STREAM, each, struct.pack(">I", 8)) if is_reset else b"" for each in ids]
        return b"".join(_h2_frame(HEADERS, each, block, 5) + end for each, end in zip(ids, reset, strict=True))

    return piece


def _grpc(rate: int, piece: Callable[[int], bytes]) -> FrameFlood:
    return FrameFlood(rate, 8, _PREFACE, piece, is_grpc=True)


FRAME_FLOODS: dict[str, FrameFlood] = {
    **{
        f"sockets: {name}": _sockets(_RATES.get(name, 200), piece, begin=begin)
        for name, (begin, piece) in _PIECES.items()
    },
    **{
        f"sockets with a token: {name}": _sockets(
            _RATES.get(name, 200), piece, begin=begin, authorization=AUTHORIZATION
        )
        for name, (begin, piece) in _PIECES.items()
    },
    "gRPC: calls of 90 headers": _grpc(160, _calls(_block(90), 1)),
    "gRPC: calls of 700 headers": _grpc(160, _calls(_block(700), 1)),
    "gRPC: small calls": _grpc(50, _calls(_block(0), SMALL_CALLS)),
    "gRPC: small calls that are reset": _grpc(50, _calls(_block(0), SMALL_CALLS, is_reset=True)),
    "gRPC: pings": _grpc(50, lambda _: _h2_frame(H2_PING, 0, bytes(8)) * 100),
    "gRPC: settings": _grpc(50, lambda _: _h2_frame(SETTINGS, 0, struct.pack(">HI", 3, 100) * 100)),
    "gRPC: sizes of the header table": _grpc(50, lambda number: _h2_frame(HEADERS, 2 * number + 1, b"\x20" * 8000, 5)),
}


async def send(flood: FrameFlood, port: int) -> None:
    """Sends pieces at the rate of a flood until the process is ended."""
    pause = flood.connections / flood.rate
    await asyncio.gather(*(_send_over_one(flood, port, pause) for _ in range(flood.connections)))


async def _send_over_one(flood: FrameFlood, port: int, pause: float) -> None:
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            reading = asyncio.ensure_future(_read_all(reader))
            try:
                writer.write(flood.begin)
                number = 0
                while not reading.done():
                    writer.write(flood.piece(number))
                    await writer.drain()
                    number += 1
                    await asyncio.sleep(pause)
            finally:
                reading.cancel()
                writer.transport.abort()
        await asyncio.sleep(RETRY_SECONDS)


async def _read_all(reader: asyncio.StreamReader) -> None:
    with suppress(OSError):
        while await reader.read(65536):
            pass
