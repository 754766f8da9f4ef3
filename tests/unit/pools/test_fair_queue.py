from __future__ import annotations

from spanwise.pools.fair_queue import FairQueue


def served(queue: FairQueue[str], seconds: dict[str, float]) -> list[str]:
    """Returns all waiting items in the order in which one thread serves them. Items of a caller take equal time."""
    order = []
    while (begun := queue.begin(has_free=True)) is not None:
        caller, item = begun
        order.append(item)
        queue.end(caller, seconds[caller])
    return order


def test_callers_take_turns_and_each_of_them_is_served_in_order() -> None:
    queue: FairQueue[str] = FairQueue()
    for caller, item in (("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2")):
        queue.add(caller, item)
    assert served(queue, {"a": 1, "b": 1}) == ["a1", "b1", "a2", "b2", "a3"]
    assert queue.running == 0


def test_turns_are_as_long_for_a_caller_with_expensive_items_as_for_one_with_cheap_ones() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(2):
        queue.add("greedy", f"g{number}")
    for number in range(6):
        queue.add("modest", f"m{number}")
    assert served(queue, {"greedy": 4, "modest": 1}) == ["g0", "m0", "m1", "m2", "m3", "g1", "m4", "m5"]


def test_who_has_fewest_running_items_is_next_even_beyond_the_threads() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(3):
        queue.add("a", f"a{number}")
    assert queue.begin(has_free=True) == ("a", "a0")
    assert queue.begin(has_free=True) == ("a", "a1")
    assert queue.begin(has_free=False) is None
    queue.add("b", "b0")
    assert queue.begin(has_free=False) == ("b", "b0")
    assert queue.running == 3
    assert queue.begin(has_free=True) == ("a", "a2")


def test_an_idle_caller_saves_up_no_time() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(5):
        queue.add("a", f"a{number}")
    for _ in range(2):
        assert queue.begin(has_free=True) is not None
        queue.end("a", 100)
    for number in range(3):
        queue.add("b", f"b{number}")
    # Only the last item of `a` counts against it, because its earlier time was used without competition.
    assert served(queue, {"a": 100, "b": 100}) == ["b0", "a2", "b1", "a3", "b2", "a4"]


def test_what_is_removed_is_not_served_and_what_is_cleared_is_returned() -> None:
    queue: FairQueue[str] = FairQueue()
    numbers = [queue.add("a", item) for item in ("a0", "a1", "a2")]
    queue.add("b", "b0")
    queue.remove("a", numbers[1])
    queue.remove("a", numbers[1])
    queue.remove("c", 7)
    assert queue.clear() == ["a0", "a2", "b0"]
    assert queue.begin(has_free=True) is None
