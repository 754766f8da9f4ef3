from __future__ import annotations

import asyncio
from contextvars import copy_context
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING

import pytest

from spanwise.errors import StoreClosedError, UnavailableError
from spanwise.fair_budget import current_caller
from spanwise.pools.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable


async def eventually_admits(pool: Pool) -> str:
    async with asyncio.timeout(10):
        while True:
            try:
                return await pool.run(lambda: "admitted")
            except UnavailableError:
                await asyncio.sleep(0.001)


def test_work_beyond_threads_and_queue_is_rejected_and_accepted_again_later() -> None:
    async def scenario() -> None:
        pool, gate = Pool("search", threads=2, waiting=1), Event()
        running = [asyncio.ensure_future(pool.run(gate.wait)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(UnavailableError, match="too many requests for search at once"):
            await pool.run(gate.wait)
        gate.set()
        assert await asyncio.gather(*running) == [True, True, True]
        assert await eventually_admits(pool) == "admitted"
        pool.close()

    asyncio.run(scenario())


def test_abandoned_work_keeps_its_thread_while_it_runs_and_leaves_the_queue_while_it_waits() -> None:
    async def scenario() -> None:
        pool, started, gate, done = Pool("search", threads=1, waiting=1), Event(), Event(), []

        def work() -> None:
            started.set()
            gate.wait()

        running = asyncio.ensure_future(pool.run(work))
        await asyncio.to_thread(started.wait)
        waiting = asyncio.ensure_future(pool.run(lambda: done.append("waiting")))
        await asyncio.sleep(0)
        running.cancel()
        waiting.cancel()
        await asyncio.wait([running, waiting])
        second = asyncio.ensure_future(pool.run(lambda: done.append("second")))
        await asyncio.sleep(0)
        with pytest.raises(UnavailableError):
            await pool.run(lambda: None)
        gate.set()
        await second
        assert done == ["second"]
        pool.close()

    asyncio.run(scenario())


def test_an_exception_of_the_work_is_raised_and_frees_its_thread() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    async def scenario() -> None:
        pool = Pool("ingest", threads=1, waiting=0)
        with pytest.raises(ZeroDivisionError):
            await pool.run(fail)
        assert await eventually_admits(pool) == "admitted"
        pool.close()

    asyncio.run(scenario())


def test_a_closed_pool_rejects() -> None:
    async def scenario() -> None:
        pool = Pool("ingest", threads=1, waiting=0)
        pool.close()
        for _ in range(2):
            with pytest.raises(StoreClosedError, match="shutting down"):
                await pool.run(lambda: None)

    asyncio.run(scenario())


def run_as(pool: Pool, caller: str, work: Callable[[], str]) -> asyncio.Task[str]:
    """Starts work of a caller."""
    context = copy_context()
    context.run(current_caller.set, caller)
    return asyncio.get_running_loop().create_task(pool.run(work), context=context)


def test_a_caller_whose_work_has_all_threads_does_not_hold_up_another_one() -> None:
    async def scenario() -> None:
        pool, gate, done = Pool("search", threads=2, waiting=22), Event(), []

        def expensive() -> str:
            gate.wait()
            done.append("greedy")
            return "greedy"

        greedy = [run_as(pool, "greedy", expensive) for _ in range(12)]
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(10):
                for number in range(3):
                    assert await run_as(pool, f"modest {number}", lambda: "served") == "served"
            assert not done
        finally:
            gate.set()
        await asyncio.gather(*greedy)
        assert done == ["greedy"] * 12
        pool.close()

    asyncio.run(scenario())


def test_a_caller_has_no_more_threads_than_there_are() -> None:
    async def scenario() -> None:
        pool, gate = Pool("search", threads=2, waiting=10), Event()
        running, lock, most = 0, Lock(), 0

        def work() -> str:
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            gate.wait()
            with lock:
                running -= 1
            return ""

        tasks = [run_as(pool, "greedy", work) for _ in range(8)]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*tasks)
        assert most <= 2
        pool.close()

    asyncio.run(scenario())


def test_without_turns_all_work_is_done_in_the_order_in_which_it_came() -> None:
    async def scenario() -> None:
        pool, gate, done = Pool("tail", threads=1, waiting=10, own=0), Event(), []

        def work(name: str) -> str:
            gate.wait()
            done.append(name)
            return name

        names = ["a", "a", "b", "c", "a", "b"]
        tasks = [run_as(pool, name, partial(work, name)) for name in names]
        await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*tasks)
        assert done == names
        pool.close()

    asyncio.run(scenario())


def test_closing_drops_what_waits_and_waits_for_what_runs() -> None:
    async def scenario() -> None:
        pool, started, gate = Pool("search", threads=1, waiting=3), Event(), Event()

        def work() -> str:
            started.set()
            gate.wait()
            return "done"

        running = run_as(pool, "a", work)
        await asyncio.to_thread(started.wait)
        waiting = run_as(pool, "a", work)
        await asyncio.sleep(0)
        closing = asyncio.ensure_future(asyncio.to_thread(pool.close))
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        gate.set()
        assert await running == "done"
        await closing
        assert pool.admitted == 0

    asyncio.run(scenario())
