"""Socket slots: unknown sockets take none from known ones, and the oldest of the busiest address is shed."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import UnavailableError
from spanwise.fair_budget import current_caller
from spanwise.http.websocket.limits import SocketLimits
from spanwise.http.websocket.protocol import GOING_AWAY, MAX_UNKNOWN_SOCKETS, TRY_AGAIN_LATER


class Socket:
    """An open socket as the limits use it."""

    def __init__(self, limits: SocketLimits, address: str) -> None:
        self.address = address
        self.codes: list[int] = []
        self._limits = limits

    def drain(self) -> None:
        """Waits for its end."""

    def end(self, code: int, reason: str) -> None:
        assert reason
        self.codes.append(code)
        self._limits.leave(self)


@given(st.lists(st.sampled_from("aaaabc"), max_size=3 * MAX_UNKNOWN_SOCKETS))
def test_an_address_with_few_sockets_loses_none(addresses: list[str]) -> None:
    limits = SocketLimits(8, 2, 2**20)
    sockets = [Socket(limits, address) for address in addresses]
    for socket in sockets:
        limits.enter(socket)
        assert limits.unknown <= MAX_UNKNOWN_SOCKETS
    for address in "abc":
        own = [socket for socket in sockets if socket.address == address]
        shed = [socket for socket in own if socket.codes]
        assert shed == own[: len(shed)], "oldest first"
        assert all(socket.codes == [TRY_AGAIN_LATER] for socket in shed)
        assert not shed or len(own) > MAX_UNKNOWN_SOCKETS // 3


def test_a_known_socket_has_a_place_and_unknown_ones_take_none() -> None:
    limits = SocketLimits(4, 2, 2**20)
    for _ in range(2 * MAX_UNKNOWN_SOCKETS):
        limits.enter(Socket(limits, "x"))
    current_caller.set("user ann")
    slots = [limits.take_slot("ann") for _ in range(2)]
    with pytest.raises(UnavailableError, match="more than 2 sockets of one user"):
        limits.take_slot("ann")
    slots.pop().release()
    slots.append(limits.take_slot("ann"))
    current_caller.set("user bob")
    slots.append(limits.take_slot("bob"))
    for slot in slots:
        slot.release()
    current_caller.set("")


def test_after_a_drain_no_socket_enters() -> None:
    limits = SocketLimits(4, 2, 2**20)
    last = Socket(limits, "x")
    limits.enter(last)
    last.drain = lambda: last.end(GOING_AWAY, "the service is shutting down")  # type: ignore[method-assign]
    asyncio.run(limits.drain())
    assert (limits.open, last.codes) == (0, [GOING_AWAY])
    with pytest.raises(UnavailableError, match="shutting down"):
        limits.enter(Socket(limits, "x"))
