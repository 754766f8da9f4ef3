"""Frames over a pair of sockets: messages arrive whole and in order, however they are cut."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from spanwise.http.websocket.protocol import MAX_MESSAGE_BYTES, MESSAGE_TOO_BIG
from spanwise.http.websocket.wire import READ_BYTES, Wire

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = st.lists(st.text(max_size=300), min_size=1, max_size=5)
CUTS = st.lists(st.integers(1, 400), min_size=1, max_size=20)


def frames_of(text: str, sizes: Sequence[int]) -> bytes:
    """Returns a text message in fragments of the given sizes, with a ping between each two."""
    data, pieces = text.encode(), []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    pieces.append(data)
    sent = b""
    for index, piece in enumerate(pieces):
        opcode = Opcode.CONT if index else Opcode.TEXT
        sent += Frame(opcode, piece, fin=index == len(pieces) - 1).serialize(mask=True)
        sent += Frame(Opcode.PING, b"").serialize(mask=True)
    return sent


async def received_by(wire: Wire, pieces: list[bytes], count: int) -> list[dict[str, Any]]:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.setblocking(False)  # noqa: FBT003  # its only parameter
        await wire.start(ours)
        found: list[dict[str, Any]] = []
        for piece in pieces:
            theirs.sendall(piece)
            await asyncio.sleep(0)
        async with asyncio.timeout(10):
            while len(found) < count:
                found.append(dict(await wire.receive()))
        theirs.close()
        await wire.finish()
    return found


@settings(max_examples=50, deadline=None)
@given(TEXTS, CUTS, CUTS)
def test_messages_arrive_whole_and_in_order(texts: list[str], fragments: list[int], writes: list[int]) -> None:
    sent = b"".join(frames_of(text, fragments) for text in texts)
    pieces = []
    for size in writes:
        pieces.append(sent[:size])
        sent = sent[size:]
    found = asyncio.run(received_by(Wire(), [*filter(None, pieces), sent], len(texts)))
    assert [message["text"] for message in found] == texts


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=400))
def test_arbitrary_bytes_end_in_messages_or_a_disconnect(sent: bytes) -> None:
    async def scene() -> None:
        wire, ours_and_theirs = Wire(), socket.socketpair()
        ours, theirs = ours_and_theirs
        with theirs:
            ours.setblocking(False)  # noqa: FBT003  # its only parameter
            await wire.start(ours)
            theirs.sendall(sent)
            theirs.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(10):
                while (await wire.receive())["type"] != "websocket.disconnect":
                    pass
            await wire.finish()

    asyncio.run(scene())


def test_a_client_with_too_large_a_message_sends_all_of_it_and_learns_why_it_is_closed() -> None:
    """Over TCP, where a connection that is closed before all was read is reset, and sending fails."""
    too_large = Frame(Opcode.TEXT, b"x" * (MAX_MESSAGE_BYTES + 1)).serialize(mask=True)

    async def scene() -> bytes:
        wire = Wire()
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
            # The kernel takes a part of it only, so that the client still sends when it is answered.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, READ_BYTES)
            client.connect(server.getsockname())
            ours, _ = server.accept()
            ours.setblocking(False)  # noqa: FBT003  # its only parameter
            await wire.start(ours)
            sending = asyncio.ensure_future(asyncio.to_thread(client.sendall, too_large))
            async with asyncio.timeout(10):
                while (await wire.receive())["type"] != "websocket.disconnect":
                    pass
                finishing = asyncio.ensure_future(wire.finish())
                await sending
                answer = await asyncio.to_thread(client.recv, 4)
                client.close()
                await finishing
        return answer

    opcode, _length, *code = asyncio.run(scene())
    assert opcode == 0x80 | Opcode.CLOSE
    assert int.from_bytes(code) == MESSAGE_TOO_BIG


def test_bytes_in_memory_are_reported_and_end_at_zero() -> None:
    sizes: list[int] = []
    wire = Wire()
    wire.on_buffered = sizes.append
    asyncio.run(received_by(wire, [frames_of("x" * 1000, [300, 300])], 1))
    assert max(sizes) >= 1000
    assert sizes[-1] == 0
