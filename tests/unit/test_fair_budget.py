"""The laws of a divided budget."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import UnavailableError
from spanwise.fair_budget import SHARE_FACTOR, FairBudget, Lease

CAPACITIES = st.integers(1, 10_000)
CALLERS = st.integers(1, 12)


def greedy(budget: FairBudget, caller: str, amount: int = 1) -> list[Lease]:
    """Takes amounts until the budget refuses."""
    taken = []
    with suppress(UnavailableError):
        while True:
            lease = Lease(budget, caller)
            lease.add(amount)
            taken.append(lease)
    return taken


def in_turns(budget: FairBudget, callers: int) -> None:
    """Lets several greedy callers take in turn until all are refused."""
    wanting = {str(number) for number in range(callers)}
    while wanting:
        for caller in sorted(wanting):
            try:
                Lease(budget, caller).add(1)
            except UnavailableError:
                wanting.discard(caller)


@given(CAPACITIES)
def test_alone_a_caller_gets_three_quarters(capacity: int) -> None:
    budget = FairBudget(capacity, "full")
    greedy(budget, "a")
    assert budget.held("a") == max(1, capacity * SHARE_FACTOR // (SHARE_FACTOR + 1))


@given(st.integers(100, 10_000), CALLERS)
def test_callers_that_all_want_everything_get_the_same(capacity: int, callers: int) -> None:
    budget = FairBudget(capacity, "full")
    in_turns(budget, callers)
    fair = SHARE_FACTOR * capacity / (SHARE_FACTOR * callers + 1)
    for number in range(callers):
        assert abs(budget.held(str(number)) - fair) <= SHARE_FACTOR + 1


@given(st.integers(100, 10_000), CALLERS)
def test_there_is_room_for_one_more_caller_whatever_others_took(capacity: int, callers: int) -> None:
    budget = FairBudget(capacity, "full")
    in_turns(budget, callers)
    Lease(budget, "late").add(1)
    assert budget.held("late") == 1


@given(CAPACITIES, st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 400), st.booleans())))
def test_what_is_released_is_free_again_and_no_caller_is_remembered(
    capacity: int, steps: list[tuple[str, int, bool]]
) -> None:
    budget = FairBudget(capacity, "full", whole=50)
    held: list[Lease] = []
    for caller, amount, releases in steps:
        lease = Lease(budget, caller)
        with suppress(UnavailableError):
            lease.add(amount)
        held.append(lease)
        if releases:
            held.pop(0).release()
        assert budget.used == sum(lease.amount for lease in held) <= capacity
        for name in "abc":
            assert budget.held(name) == sum(each.amount for each in held if each.caller == name)
    for lease in held:
        lease.release()
    assert budget.used == 0
    assert all(budget.allows(name, min(capacity, 50)) for name in "abc")


@given(CAPACITIES, st.integers(1, 10_000))
def test_one_whole_request_fits_an_unused_budget(capacity: int, whole: int) -> None:
    budget = FairBudget(capacity, "full", whole)
    assert budget.allows("a", min(capacity, whole))
    assert not budget.allows("a", capacity + 1)


def test_a_closed_holding_takes_no_more() -> None:
    budget = FairBudget(8, "x")
    with budget.hold() as lease:
        lease.add(2)
    assert (lease.amount, budget.used) == (0, 0)
    for take in (lease.add, lease.resize):
        with pytest.raises(UnavailableError, match="ended"):
            take(1)
    assert budget.used == 0


def test_what_is_in_use_already_is_counted_beyond_the_budget_and_the_message_is_said() -> None:
    budget = FairBudget(10, "too many widgets")
    lease = budget.take(2)
    lease.count(30)
    assert (budget.used, lease.amount) == (32, 32)
    with pytest.raises(UnavailableError, match="too many widgets"):
        budget.expect_available()
    with pytest.raises(UnavailableError, match="too many widgets"):
        budget.take()
    lease.release()
    lease.release()
    assert budget.used == 0
    with budget.take(3) as block:
        assert budget.used == block.amount == 3
    assert budget.used == 0


@given(
    CAPACITIES,
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(1, 9000)), max_size=8),
    st.lists(st.integers(0, 9000), max_size=8),
)
def test_what_drains_comes_from_all_callers_in_proportion(
    capacity: int, taken: list[tuple[str, int]], drained: list[int]
) -> None:
    budget = FairBudget(capacity, "full")
    for caller, amount in taken:
        budget.change(caller, amount, is_checked=False)
    for amount in drained:
        used, before = budget.used, {name: budget.held(name) for name in "abcd"}
        budget.drain(amount)
        left = max(0, used - amount)
        assert left - len("abcd") < budget.used <= left
        for name, held in before.items():
            assert held * left - max(used, 1) < budget.held(name) * used <= held * left
        assert budget.used == sum(budget.held(name) for name in "abcd")
    budget.drain(capacity + 100_000)
    assert budget.used == 0
    assert budget.allows("a", 1)
