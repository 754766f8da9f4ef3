"""The laws of the processor time for unknown callers."""

from __future__ import annotations

import asyncio
import itertools
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.auth.processor_budget import (
    BURST_SECONDS,
    REFILL_SECONDS,
    REQUEST_BYTES,
    WAITING_BYTES,
    ProcessorBudget,
    ProcessorMeter,
)
from spanwise.errors import UnavailableError
from support.clients.forged_tokens import Clock

MILLISECOND = 1_000_000
COSTS = st.integers(1, 3 * MILLISECOND)
SHARES = st.sampled_from([0.05, 0.1, 0.5, 1.0])


def ask(budget: ProcessorBudget, caller: str, cost: int) -> bool:
    """Takes processor time if the budget allows it. Returns True if it did."""
    admission = budget.admit(caller, 1000)
    try:
        while True:
            admission.send(None)  # no other caller waits for a turn
    except StopIteration:
        budget.count(caller, cost)
        return True
    except UnavailableError:
        return False


@given(SHARES, st.lists(st.tuples(st.sampled_from("abc"), COSTS, st.integers(0, 40)), min_size=1, max_size=200))
def test_all_callers_together_take_a_share_of_one_core(share: float, asked: list[tuple[str, int, int]]) -> None:
    """The limit adds one burst, and the request by which each caller may exceed its share."""
    clock = Clock(0)
    budget = ProcessorBudget(share, clock)
    used = 0
    for caller, cost, milliseconds in asked:
        clock.now += milliseconds / 1000
        used += cost if ask(budget, caller, cost) else 0
        assert used <= share * (clock.now + BURST_SECONDS) * 1000 * MILLISECOND + 3 * 3 * MILLISECOND


@given(SHARES, st.integers(1, 6))
def test_others_are_served_whatever_some_addresses_ask(share: float, flooding: int) -> None:
    clock = Clock(0)
    budget = ProcessorBudget(share, clock)
    cost = int(share * BURST_SECONDS * 1000 * MILLISECOND) // 100
    for step in range(30):
        clock.now = step * REFILL_SECONDS
        for _ in range(30):
            for number in range(flooding):
                ask(budget, f"flood {number}", cost)
        assert ask(budget, f"new {step}", 0), step


@given(SHARES)
def test_one_address_gets_most_of_it_and_all_of_it_comes_back(share: float) -> None:
    clock = Clock(0)
    budget = ProcessorBudget(share, clock)
    whole = share * BURST_SECONDS * 1000 * MILLISECOND
    cost = int(whole / 200)
    for _ in range(3):
        taken = 0
        while ask(budget, "a", cost):
            taken += cost
        assert 0.74 * whole < taken < 0.76 * whole
        assert not ask(budget, "a", cost)
        clock.now += BURST_SECONDS


class Recording(ProcessorBudget):
    """A budget that records its charges."""

    def __init__(self) -> None:
        super().__init__(1.0, Clock(0))
        self.counted: list[tuple[str, int]] = []

    def count(self, caller: str, nanoseconds: int) -> None:
        self.counted.append((caller, nanoseconds))
        super().count(caller, nanoseconds)


def test_steps_are_counted_until_the_caller_is_known() -> None:
    budget = Recording()
    known = [False]

    async def request() -> str:
        until = time.thread_time_ns() + MILLISECOND
        while time.thread_time_ns() < until:
            pass
        await asyncio.sleep(0.01)
        await asyncio.sleep(0)
        known[0] = True
        await asyncio.sleep(0)
        return "response"

    assert asyncio.run(budget.run("a", request(), lambda: known[0])) == "response"
    assert [caller for caller, _ in budget.counted] == ["a", "a"]
    assert budget.counted[0][1] >= MILLISECOND
    total = sum(nanoseconds for _, nanoseconds in budget.counted) / 1e9
    name, _, value = next(iter(budget.seconds.samples())).partition(" ")
    assert name == "spanwise_unknown_callers_processor_seconds_total"
    assert float(value) == pytest.approx(total)


def test_errors_and_cancellations_pass_and_are_counted() -> None:
    budget = ProcessorBudget(1.0, Clock(0))
    ended = []

    async def failing() -> None:
        await asyncio.sleep(0)
        raise KeyError("x")

    async def endless() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("endless")

    async def scenario() -> None:
        with pytest.raises(KeyError):
            await budget.run("a", failing(), lambda: False)
        task = asyncio.create_task(budget.run("a", endless(), lambda: False))
        await asyncio.sleep(0.01)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(scenario())
    assert ended == ["endless"]
    assert list(budget.seconds.samples())


def test_known_callers_are_served_between_any_two_unknown_ones() -> None:
    budget = ProcessorBudget(1.0, Clock(0))
    served: list[str] = []

    async def unknown() -> None:
        await budget.admit("a", 1000)
        served.append("unknown")

    async def known() -> None:
        while served.count("unknown") < 50:
            await asyncio.sleep(0)
            served.append("known")

    async def scenario() -> None:
        await asyncio.gather(*(unknown() for _ in range(50)), known())

    asyncio.run(scenario())
    assert ("unknown", "unknown") not in set(itertools.pairwise(served))


def test_those_that_wait_for_their_turn_see_what_others_used() -> None:
    budget = ProcessorBudget(1.0, Clock(0))
    whole = round(BURST_SECONDS * 1000) * MILLISECOND

    async def unknown() -> bool:
        try:
            await budget.admit("a", 1000)
        except UnavailableError:
            return False
        budget.count("a", whole // 10)
        return True

    async def scenario() -> list[bool]:
        return await asyncio.gather(*(unknown() for _ in range(30)))

    assert asyncio.run(scenario()).count(True) == 8, "three quarters, and one that exceeds them"


def test_a_rejection_is_counted() -> None:
    budget = ProcessorBudget(0.1, Clock(0))
    assert ask(budget, "a", 1000 * MILLISECOND)
    for _ in range(3):
        assert not ask(budget, "a", 1)
    assert list(budget.rejections.samples()) == ["spanwise_unknown_callers_rejected_total 3"]


@given(st.lists(st.integers(0, 64 * 1024), min_size=1, max_size=600))
def test_requests_that_wait_take_a_bounded_memory_and_leave_some_to_others(heads: list[int]) -> None:
    """Turns come one by one. A queue of 3,000 heads of 30 KB once took 200 MiB."""
    budget = ProcessorBudget(1.0, Clock(0))

    async def request(caller: str, head: int) -> int:
        try:
            await budget.admit(caller, head)
        except UnavailableError:
            return 0
        return head + REQUEST_BYTES

    async def scenario() -> tuple[int, int]:
        flood = [asyncio.create_task(request("a", head)) for head in heads]
        other = asyncio.create_task(request("b", 1000))
        return sum(await asyncio.gather(*flood)), await other

    admitted, other = asyncio.run(scenario())
    assert admitted <= WAITING_BYTES * 3 // 4
    assert admitted > WAITING_BYTES * 3 // 4 - 2 * 64 * 1024 or admitted == sum(heads) + len(heads) * REQUEST_BYTES
    assert other > 0


def test_the_memory_of_those_that_gave_up_is_given_back() -> None:
    budget = ProcessorBudget(1.0, Clock(0))

    async def scenario() -> None:
        for _ in range(20):
            flood = [asyncio.create_task(budget.admit("a", 60_000)) for _ in range(30)]
            await asyncio.sleep(0)
            for task in flood:
                task.cancel()
            assert UnavailableError not in map(type, await asyncio.gather(*flood, return_exceptions=True))

    asyncio.run(scenario())


def test_a_connection_over_its_share_is_not_served_until_time_passes() -> None:
    clock = Clock(0)
    budget = ProcessorBudget(1.0, clock)
    meter = ProcessorMeter(budget, "a")
    budget.count("a", 400 * MILLISECOND)
    served = []
    for _ in range(3):
        with pytest.raises(UnavailableError), meter.measured():
            served.append("a")
    with ProcessorMeter(budget, "b").measured():
        served.append("b")
    with meter.counted():
        served.append("a, without a check")
    clock.now += BURST_SECONDS
    with meter.measured():
        served.append("a")
    assert served == ["b", "a, without a check", "a"]
    assert list(budget.rejections.samples()) == ["spanwise_unknown_callers_rejected_total 3"]


def test_the_work_of_a_connection_is_counted_whether_it_fails_or_not() -> None:
    budget = Recording()
    meter = ProcessorMeter(budget, "a")
    with meter.measured():
        busy()
    with pytest.raises(KeyError), meter.measured():
        busy(KeyError("x"))
    assert [caller for caller, _ in budget.counted] == ["a", "a"]
    assert all(nanoseconds >= MILLISECOND for _, nanoseconds in budget.counted)


def test_a_connection_that_turns_out_to_be_known_costs_its_address_nothing() -> None:
    unknown, known = Recording(), Recording()
    meter = ProcessorMeter(unknown, "address")
    with meter.measured():
        busy()
    unknown.count("address", 10)
    meter.move(known, "user")
    assert unknown.held("address") == 11, "a nanosecond of the check, and what others took"
    with meter.measured():
        busy()
    assert unknown.held("address") == 11
    assert known.held("user") >= MILLISECOND
    meter.move(unknown, "address")
    assert known.held("user") == 1


def test_no_more_is_given_back_than_is_left() -> None:
    clock = Clock(0)
    budget = ProcessorBudget(1.0, clock)
    meter = ProcessorMeter(budget, "a")
    with meter.measured():
        busy()
    clock.now += BURST_SECONDS
    budget.expect_available("b")
    meter.move(budget, "b")
    assert (budget.held("a"), budget.held("b")) == (0, 1)


def busy(error: Exception | None = None) -> None:
    """Takes a millisecond of processor time, then raises `error`."""
    until = time.thread_time_ns() + MILLISECOND
    while time.thread_time_ns() < until:
        pass
    if error is not None:
        raise error
