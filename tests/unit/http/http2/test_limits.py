from __future__ import annotations

from spanwise.auth.processor_budget import ProcessorBudget
from spanwise.http.http2.limits import MAX_UNKNOWN_CONNECTIONS, ConnectionLimits


class Open:
    """A connection that only records its end."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.ended: str | None = None

    def end(self, reason: str) -> None:
        self.ended = reason

    def drain(self) -> None:
        raise NotImplementedError


def test_one_too_many_ends_the_oldest_unknown_one_of_the_busiest_address() -> None:
    limits = ConnectionLimits(10_000, ProcessorBudget(1.0))
    few = Open("few")
    many = [Open("many") for _ in range(MAX_UNKNOWN_CONNECTIONS)]
    limits.enter(few)
    for each in many:
        limits.enter(each)
    assert [each.ended for each in many] == ["too many connections", *[None] * (MAX_UNKNOWN_CONNECTIONS - 1)]
    assert few.ended is None
    assert limits.unknown == MAX_UNKNOWN_CONNECTIONS


def test_known_ones_are_never_ended_for_others() -> None:
    limits = ConnectionLimits(3, ProcessorBudget(1.0))
    known = [Open("known") for _ in range(3)]
    for each in known:
        limits.enter(each)
        limits.recognize(each)
    late = Open("late")
    limits.enter(late)
    assert late.ended == "too many connections"
    assert not any(each.ended for each in known)
    assert len(limits.open) == 3
    limits.leave(known[0])
    fits = Open("fits")
    limits.enter(fits)
    assert fits.ended is None
