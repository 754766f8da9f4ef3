"""The rate limit of responses to unauthenticated callers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spanwise.auth.rate_limit import RateLimiter

PER_SECOND = 1024


class Clock:
    """A clock that tests set by hand, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def serve(pauses: list[float]) -> tuple[list[float], list[float]]:
    """Returns when each rejection was requested and when it was served."""
    clock = Clock()
    pace = RateLimiter(1, clock)
    requested, served = [], []
    for pause in pauses:
        clock.now += pause
        requested.append(clock.now)
        served.append(clock.now + pace.delay())
    return requested, served


@given(st.lists(st.integers(0, 320).map(lambda part: part / 64), min_size=1, max_size=50))
def test_rejections_are_served_in_order_a_second_apart_and_none_waits_needlessly(pauses: list[float]) -> None:
    requested, served = serve(pauses)  # sixty-fourths of a second are exact
    assert served[0] == requested[0]
    for index in range(1, len(served)):
        assert served[index] == max(requested[index], served[index - 1] + 1)


def test_the_rate_is_per_second() -> None:
    pace = RateLimiter(PER_SECOND, Clock())
    delays = [pace.delay() for _ in range(3 * PER_SECOND)]
    assert sum(delay < 1 for delay in delays) == PER_SECOND
