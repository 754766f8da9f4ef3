from __future__ import annotations

import asyncio
from threading import Event

import pytest

from spanwise.errors import StoreClosedError, UnavailableError
from spanwise.traces.pools import Pool


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
