"""Connections of unknown callers: their cost is measured, and limited before parsing."""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING, Any

import pytest
from hpack import Encoder

from spanwise.auth.processor_budget import ProcessorBudget
from spanwise.http.http2.connection import Connection
from spanwise.http.http2.limits import ConnectionLimits
from spanwise.settings import Settings
from support.clients.forged_tokens import Clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import Receive, Scope, Send

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING, GOAWAY = 0, 1, 4, 6, 7
BLOCK = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/x"), (b":authority", b"localhost")]
ADDRESS = "127.0.0.1"
KEY = f"address {ADDRESS}"


def frame(kind: int, stream_id: int, payload: bytes = b"", flags: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream_id) + payload


BEGIN = PREFACE + frame(SETTINGS, 0)


def requests(count: int, *, first: int = 0, ends: bool = True) -> list[bytes]:
    """Returns the frames of requests, each with a header block that leaves the table unchanged."""
    block = b"".join(
        b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in [*BLOCK, (b"a", b"b")]
    )
    flags = 5 if ends else 4
    return [frame(HEADERS, 2 * (first + number) + 1, block, flags) for number in range(count)]


class Counted(ProcessorBudget):
    """A budget that counts a millisecond for each piece of work."""

    def __init__(self) -> None:
        self.pieces = 0
        super().__init__(0.1, Clock(0))

    def count(self, caller: str, nanoseconds: int) -> None:
        self.pieces += nanoseconds > 0
        super().count(caller, 1_000_000)


class Transport:
    """Records the calls of a connection."""

    def __init__(self) -> None:
        self.sent = b""
        self.is_open = True
        self.is_reading = True

    def get_extra_info(self, _name: str) -> tuple[str, int]:
        return ADDRESS, 1

    def is_closing(self) -> bool:
        return not self.is_open

    def write(self, data: bytes) -> None:
        self.sent += data

    def close(self) -> None:
        self.is_open = False

    abort = close

    def reads(self) -> bool:
        return self.is_reading

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    @property
    def goaway_code(self) -> int | None:
        """The code in the last GOAWAY frame; None without one."""
        position, code = 0, None
        while position < len(self.sent):
            size, kind = int.from_bytes(self.sent[position : position + 3]), self.sent[position + 3]
            if kind == GOAWAY:
                code = int.from_bytes(self.sent[position + 13 : position + 17])
            position += 9 + size
        return code


class Scene:
    """A connection, and its requests that reach the application."""

    def __init__(self, budget: ProcessorBudget, respond: Callable[..., Awaitable[None]] | None = None) -> None:
        self.begun = 0
        self.transport = Transport()
        self._respond = respond
        self.limits = ConnectionLimits(100, budget)
        self.connection = Connection(self._serve, Settings(), self.limits)
        self.connection.connection_made(self.transport)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun += 1
        if self._respond is None:
            await asyncio.sleep(3600)
        else:
            await self._respond(scope, receive, send)

    async def settle(self) -> None:
        """Lets all ready tasks run."""
        for _ in range(200):
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Ends the connection and its running requests."""
        self.connection.connection_lost(None)
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def reject(scope: Scope, _receive: Receive, send: Send) -> None:
    """Rejects a request of a caller over its share."""
    scope["state"]["ends_connection"] = True
    await accept(scope, _receive, send)


async def accept(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def play(scenario: Awaitable[None]) -> None:
    asyncio.run(_in_time(scenario))


async def _in_time(scenario: Awaitable[None]) -> None:
    async with asyncio.timeout(30):
        await scenario


@pytest.mark.parametrize("piece", [requests(90), [frame(PING, 0, bytes(8)) * 32] * 28], ids=["headers", "pings"])
def test_an_address_over_its_share_is_disconnected(piece: list[bytes]) -> None:
    """37 pieces of a millisecond are three quarters of 50 ms; one is charged for the start of the connection."""
    budget = Counted()

    async def scenario() -> None:
        for number in range(3):
            scene = Scene(budget)
            scene.connection.data_received(BEGIN + b"".join(piece))
            await scene.settle()
            await scene.close()
            if scene.transport.is_closing():
                assert scene.transport.goaway_code == 0
                assert number or scene.begun < 40
                break
        assert scene.transport.is_closing()
        assert 37 <= budget.pieces <= 40
        late = Scene(budget)
        assert late.transport.is_closing()
        assert not late.limits.open
        late.connection.connection_lost(None)

    play(scenario())


def test_requests_that_arrive_together_are_parsed_one_by_one() -> None:
    async def scenario() -> None:
        scene = Scene(ProcessorBudget(1000.0))
        scene.connection.data_received(BEGIN + b"".join(requests(50)))
        seen = {scene.begun}
        assert not scene.transport.reads()
        while scene.begun < 50:
            await asyncio.sleep(0)
            seen.add(scene.begun)
        assert seen == set(range(51))
        await scene.settle()
        assert scene.transport.reads()
        await scene.close()

    play(scenario())


def test_a_client_that_reads_nothing_is_not_read_when_its_requests_were_parsed() -> None:
    async def scenario() -> None:
        scene = Scene(ProcessorBudget(1000.0))
        scene.connection.data_received(BEGIN + b"".join(requests(5)))
        scene.connection.pause_writing()
        await scene.settle()
        assert scene.begun == 5
        assert not scene.transport.reads()
        scene.connection.resume_writing()
        assert scene.transport.reads()
        await scene.close()

    play(scenario())


def test_a_rejected_request_ends_the_connection_of_an_unknown_caller() -> None:
    async def scenario() -> None:
        scene = Scene(ProcessorBudget(1000.0), reject)
        scene.connection.data_received(BEGIN + b"".join(requests(10)))
        await scene.settle()
        assert scene.transport.is_closing()
        assert scene.transport.goaway_code == 0
        assert scene.begun < 5
        await scene.close()

    play(scenario())


def test_a_rejected_request_lets_those_of_known_callers_end_first() -> None:
    """A proxy may send the requests of many callers over one connection."""
    may_end = asyncio.Event()

    async def respond(scope: Scope, receive: Receive, send: Send) -> None:
        if may_end.is_set() or scene_of[0].begun > 1:
            await reject(scope, receive, send)
        else:
            await receive()
            await may_end.wait()
            await accept(scope, receive, send)

    scene_of: list[Any] = []

    async def scenario() -> None:
        scene = Scene(ProcessorBudget(1000.0), respond)
        scene_of.append(scene)
        known, unknown = requests(2)
        scene.connection.data_received(BEGIN + known)
        await scene.settle()
        scene.connection.data_received(unknown)
        await scene.settle()
        assert scene.transport.goaway_code == 0
        assert not scene.transport.is_closing(), "a known caller waits for its response"
        may_end.set()
        await scene.settle()
        assert scene.transport.is_closing()
        await scene.close()

    play(scenario())


def test_a_caller_that_turns_out_to_be_known_costs_its_address_nothing() -> None:
    budget = ProcessorBudget(1.0, Clock(0))

    async def read(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await accept(scope, receive, send)

    async def scenario() -> None:
        scene = Scene(budget, read)
        assert budget.held(KEY) > 1000
        scene.connection.data_received(BEGIN + requests(1)[0])
        await scene.settle()
        assert budget.held(KEY) < 100, "a nanosecond for each check"
        held = budget.held(KEY)
        scene.connection.data_received(b"".join(requests(20, first=1)))
        await scene.settle()
        assert scene.begun == 21
        assert budget.held(KEY) == held
        await scene.close()

    play(scenario())


def test_too_many_changes_of_the_header_table_end_the_connection() -> None:
    async def scenario() -> None:
        scene = Scene(ProcessorBudget(1000.0))
        scene.connection.data_received(BEGIN + frame(HEADERS, 1, b"\x20" * 10_000 + Encoder().encode(BLOCK), flags=5))
        await scene.settle()
        assert scene.transport.is_closing()
        assert not scene.begun
        await scene.close()

    play(scenario())
