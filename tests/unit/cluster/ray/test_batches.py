"""Writes to a shard in another process are sent together, and every part gets its own outcome."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from spanwise.cluster.ray.batches import MAX_BATCH_BYTES, MAX_WAITING_BYTES, Batches
from spanwise.cluster.shards.shard import ShardFullError, Waiting
from spanwise.errors import StoreClosedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.cluster.ray.batches import Outcomes
    from spanwise.cluster.shards.shard import Part


def part(number: int, size: int = 8) -> Part:
    return 1, number, b"x" * size


class Sent:
    """Accepts batches one by one, each only after the test allows it."""

    def __init__(self) -> None:
        self.numbers: list[list[int]] = []
        self.seconds: list[float] = []
        self.has_begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)

    def __call__(self, parts: Sequence[Part], seconds: float) -> Outcomes:
        self.numbers.append([received for _, received, _ in parts])
        self.seconds.append(seconds)
        self.has_begun.release()
        self.may_end.acquire()
        return [UnavailableError("full") if received == 13 else (received, 0, "") for _, received, _ in parts]


def alone(seconds: float = 60.0) -> Waiting:
    return Waiting(time.monotonic() + seconds, lambda: False)


def followed() -> Waiting:
    return Waiting(time.monotonic() + 60, lambda: True)


def test_what_comes_during_a_call_is_the_next_one() -> None:
    sent = Sent()
    batches = Batches(sent, "batches")
    first = batches.add(part(1), alone())
    sent.has_begun.acquire()
    others = [batches.add(part(number), alone()) for number in (2, 3, 13, 4)]
    assert not any(call.done() for call in (first, *others))
    sent.may_end.release(2)
    assert first.result(5) == (1, 0, "")
    assert [others[index].result(5) for index in (0, 1, 3)] == [(2, 0, ""), (3, 0, ""), (4, 0, "")]
    with pytest.raises(UnavailableError, match="full"):
        others[2].result(5)
    assert sent.numbers == [[1], [2, 3, 13, 4]]
    batches.close()
    with pytest.raises(StoreClosedError):
        batches.add(part(5), alone())


def test_a_batch_is_bounded() -> None:
    sent = Sent()
    batches = Batches(sent, "batches")
    calls = [batches.add(part(0), alone())]
    sent.has_begun.acquire()
    half = MAX_BATCH_BYTES // 2
    sizes = {1: half, 2: half, 3: 1, 4: MAX_BATCH_BYTES + 1, 5: 1}
    calls += [batches.add(part(number, size), alone()) for number, size in sizes.items()]
    sent.may_end.release(5)
    batches.close()
    assert all(call.done() for call in calls)
    assert sent.numbers == [[0], [1, 2], [3], [4], [5]]


def test_a_part_waits_for_those_that_follow_it() -> None:
    sent = Sent()
    sent.may_end.release(9)
    batches = Batches(sent, "batches")
    # No other part has to follow.
    assert batches.add(part(1), followed()).result(5) == (1, 0, "")
    following = threading.Event()
    following.set()
    calls = [batches.add(part(2), Waiting(time.monotonic() + 60, following.is_set))]
    calls.append(batches.add(part(3), Waiting(time.monotonic() + 60, following.is_set)))
    following.clear()
    assert [call.result(5) for call in calls] == [(2, 0, ""), (3, 0, "")]
    assert [number for batch in sent.numbers for number in batch] == [1, 2, 3]
    batches.close()


def test_a_call_that_fails_fails_for_every_part() -> None:
    def fail(_: Sequence[Part], __: float) -> Outcomes:
        raise UnavailableError("away")

    batches = Batches(fail, "batches")
    for call in [batches.add(part(number), followed()) for number in range(3)]:
        with pytest.raises(UnavailableError, match="away"):
            call.result(5)
    batches.close()


def test_what_waits_is_bounded() -> None:
    sent = Sent()
    batches = Batches(sent, "batches")
    calls = [batches.add(part(0), alone())]
    sent.has_begun.acquire()
    # A single part may be larger.
    calls.append(batches.add(part(1, MAX_WAITING_BYTES + 1), alone()))
    with pytest.raises(ShardFullError, match="bytes already wait for a shard; retry"):
        batches.add(part(2), alone())
    sent.may_end.release(2)
    assert [call.result(5) for call in calls] == [(0, 0, ""), (1, 0, "")]
    sent.may_end.release(1)
    assert batches.add(part(3), alone()).result(5) == (3, 0, "")
    batches.close()
    assert sent.numbers == [[0], [1], [3]]


def test_what_nobody_waits_for_any_more_is_not_sent() -> None:
    sent = Sent()
    batches = Batches(sent, "batches")
    first = batches.add(part(0), alone())
    sent.has_begun.acquire()
    late, later, other = (batches.add(part(number), alone(seconds)) for number, seconds in ((1, 0), (2, 20), (3, 40)))
    sent.may_end.release(2)
    batches.close()
    assert [call.result(0) for call in (first, later, other)] == [(0, 0, ""), (2, 0, ""), (3, 0, "")]
    with pytest.raises(UnavailableError, match="in time"):
        late.result(0)
    assert sent.numbers == [[0], [2, 3]]
    # A call waits as long as the latest deadline of its parts.
    assert 30 < sent.seconds[1] <= 40
