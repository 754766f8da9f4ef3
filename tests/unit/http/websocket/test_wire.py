"""Frames over a socket pair: messages arrive complete and in order, however they are split."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from spanwise.auth.processor_budget import ProcessorBudget, ProcessorMeter
from spanwise.http.websocket.protocol import MAX_MESSAGE_BYTES, MESSAGE_TOO_BIG, TRY_AGAIN_LATER
from spanwise.http.websocket.wire import PIECE_BYTES, READ_BYTES, Wire
from support.clients.forged_tokens import Clock

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = st.lists(st.text(max_size=300), min_size=1, max_size=5)
CUTS = st.lists(st.integers(1, 400), min_size=1, max_size=20)


def frames_of(text: str, sizes: Sequence[int]) -> bytes:
    """Returns a text message in fragments of the given sizes, with a ping between fragments."""
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
    """Over TCP, closing a connection with unread data resets it, and sending fails."""
    too_large = Frame(Opcode.TEXT, b"x" * (MAX_MESSAGE_BYTES + 1)).serialize(mask=True)

    async def scene() -> bytes:
        wire = Wire()
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
            # The kernel buffers only a part, so that the client is still sending when the response arrives.
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


FRAMES_WITHOUT_MESSAGES = {
    "pings": [Frame(Opcode.PING, b"")],
    "pongs": [Frame(Opcode.PONG, b"")],
    "empty continuations": [Frame(Opcode.TEXT, b"", fin=False), Frame(Opcode.CONT, b"", fin=False)],
    "bytes one by one": [Frame(Opcode.TEXT, b"", fin=False), Frame(Opcode.CONT, b"x", fin=False)],
    "pings between fragments": [Frame(Opcode.TEXT, b"", fin=False), Frame(Opcode.PING, b"x")],
    "empty messages": [Frame(Opcode.TEXT, b"")],
}


def many(case: str, count: int) -> bytes:
    """Returns `count` frames of a case, repeating its last frame."""
    *begin, again = FRAMES_WITHOUT_MESSAGES[case]
    return b"".join(frame.serialize(mask=True) for frame in begin) + again.serialize(mask=True) * count


class Counted(ProcessorBudget):
    """A budget that counts a millisecond for each piece of work."""

    def __init__(self, share: float) -> None:
        self.clock = Clock(0)
        self.pieces = 0
        super().__init__(share, self.clock)

    def count(self, caller: str, nanoseconds: int) -> None:
        self.pieces += nanoseconds > 0
        super().count(caller, 1_000_000)


async def flooded(wire: Wire, sent: bytes) -> list[dict[str, Any]]:
    """Returns the messages received from a client that sends until it is cut off, and then disconnects."""
    ours, theirs = socket.socketpair()
    with theirs:
        ours.setblocking(False)  # noqa: FBT003  # its only parameter
        theirs.settimeout(30)
        await wire.start(ours)

        def send() -> None:
            with suppress(OSError):
                theirs.sendall(sent)
                theirs.shutdown(socket.SHUT_WR)

        sending = asyncio.ensure_future(asyncio.to_thread(send))
        found: list[dict[str, Any]] = []
        async with asyncio.timeout(30):
            while not found or found[-1]["type"] != "websocket.disconnect":
                found.append(dict(await wire.receive()))
            await wire.finish()
            await sending
    return found


@pytest.mark.parametrize("case", FRAMES_WITHOUT_MESSAGES)
def test_frames_of_an_unknown_client_take_no_more_than_its_share(case: str) -> None:
    """50 ms of a tenth of a core are 37 pieces for one address; the client sends hundreds."""
    budget, wire = Counted(0.1), Wire()
    wire.meter = ProcessorMeter(budget, "a")
    sent = many(case, 100_000)
    asyncio.run(flooded(wire, sent))
    assert len(sent) > 500 * PIECE_BYTES
    assert 37 <= budget.pieces <= 39
    other = ProcessorMeter(budget, "b")
    with other.measured():
        pass


def test_an_unknown_client_over_its_share_learns_why_it_is_closed() -> None:
    budget, wire = Counted(0.1), Wire()
    wire.meter = ProcessorMeter(budget, "a")

    async def scene() -> bytes:
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setblocking(False)  # noqa: FBT003  # its only parameter
            await wire.start(ours)
            theirs.sendall(many("pongs", 10_000))
            async with asyncio.timeout(10):
                assert (await wire.receive())["type"] == "websocket.disconnect"
            answer = await asyncio.to_thread(theirs.recv, 125)
            theirs.close()
            await wire.finish()
        return answer

    answer = asyncio.run(scene())
    assert answer[0] == 0x80 | Opcode.CLOSE
    assert int.from_bytes(answer[2:4]) == TRY_AGAIN_LATER
    assert answer[4:] == b"too many requests without a verified token at once"


@pytest.mark.parametrize("case", ["pongs", "bytes one by one"])
def test_frames_of_a_known_client_wait_for_its_share_and_none_is_lost(case: str) -> None:
    budget, wire = Counted(1.0), Wire()
    wire.max_message_bytes = MAX_MESSAGE_BYTES
    wire.meter = ProcessorMeter(budget, "a")
    last = Frame(Opcode.TEXT if case == "pongs" else Opcode.CONT, b"end").serialize(mask=True)

    async def scene() -> list[dict[str, Any]]:
        passing = asyncio.ensure_future(pass_time())
        found = await flooded(wire, many(case, 100_000) + last)
        passing.cancel()
        return found

    async def pass_time() -> None:
        while True:
            await asyncio.sleep(0.001)
            budget.clock.now += 1

    message, _ = asyncio.run(scene())
    assert message["text"].endswith("end")
    assert budget.pieces > 500


def test_other_work_comes_between_pieces_of_many_frames() -> None:
    budget, wire = Counted(1000.0), Wire()
    wire.meter = ProcessorMeter(budget, "a")
    pieces_seen: set[int] = set()

    async def scene() -> None:
        async def look() -> None:
            while True:
                pieces_seen.add(budget.pieces)
                await asyncio.sleep(0)

        looking = asyncio.ensure_future(look())
        await flooded(wire, many("pongs", 20_000))
        looking.cancel()

    asyncio.run(scene())
    assert budget.pieces > 100
    assert len(pieces_seen) >= budget.pieces - 1


def test_what_is_waiting_is_accounted_once_for_each_message() -> None:
    """Earlier, the sum was computed again for each message, which is quadratic for a read with many tiny ones."""
    sizes: list[int] = []
    wire = Wire()
    wire.on_buffered = sizes.append
    found = asyncio.run(received_by(wire, [Frame(Opcode.TEXT, b"xy").serialize(mask=True) * 1000], 1000))
    assert len(found) == 1000
    assert max(sizes) <= 2 * READ_BYTES // 8
    assert sizes[-1] == 0
