from __future__ import annotations

from contextvars import copy_context
from threading import Event
from typing import TYPE_CHECKING, cast

from spanwise.cluster.scatter import Scatter
from spanwise.fair_budget import current_caller

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from spanwise.cluster.shards.shard import Shard

SHARDS = 3
GREEDY = 60


def ask_as(scatter: Scatter, caller: str, work: Callable[[], str]) -> Future[str]:
    """Sends a request to a shard as a caller."""
    context = copy_context()
    context.run(current_caller.set, caller)
    return context.run(scatter.ask_shard, work)


def test_the_questions_of_one_search_are_asked_beside_many_of_another_caller() -> None:
    scatter, gate = Scatter([cast("Shard", object())] * SHARDS, 1, 10.0), Event()

    def expensive() -> str:
        gate.wait()
        return current_caller.get()

    greedy = [ask_as(scatter, "greedy", expensive) for _ in range(GREEDY)]
    together = Event()
    asked: list[str] = []

    def cheap() -> str:
        asked.append(current_caller.get())
        if len(asked) == SHARDS:
            together.set()
        assert together.wait(10)
        return current_caller.get()

    try:
        modest = [ask_as(scatter, "modest", cheap) for _ in range(SHARDS)]
        assert [answer.result(10) for answer in modest] == ["modest"] * SHARDS
        assert not any(answer.done() for answer in greedy)
    finally:
        gate.set()
    assert [answer.result(10) for answer in greedy] == ["greedy"] * GREEDY
    scatter.close()
