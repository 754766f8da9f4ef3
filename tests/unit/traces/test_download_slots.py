"""The laws of download slots."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import UnavailableError
from spanwise.fair_budget import current_caller
from spanwise.traces import download_slots
from spanwise.traces.download_slots import MAX_DOWNLOADS, MAX_WAITING, DownloadSlots

if TYPE_CHECKING:
    from spanwise.traces.download_slots import RunningDownload


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader is slow from its first chunk on, and waits end early."""
    monkeypatch.setattr(download_slots, "UNUSED_SECONDS", 0.0)
    monkeypatch.setattr(download_slots, "WAIT_SECONDS", 0.0)


async def begin(slots: DownloadSlots, opened: AsyncExitStack, caller: str, waits_since: float) -> RunningDownload:
    """Starts a download whose reader got its last chunk at `waits_since`."""
    current_caller.set(caller)
    running = await opened.enter_async_context(slots.slot())
    running.waits_since = waits_since
    return running


async def fill(slots: DownloadSlots, opened: AsyncExitStack, waits_since: float) -> list[RunningDownload]:
    """Takes six slots for one caller, and one each for two others."""
    greedy = [await begin(slots, opened, "greedy", waits_since) for _ in range(6)]
    return [*greedy, *[await begin(slots, opened, caller, waits_since) for caller in ("other", "another")]]


@pytest.mark.usefixtures("at_once")
def test_whoever_has_fewest_gets_places_of_whoever_has_most() -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as opened:
            slots = DownloadSlots()
            running = await fill(slots, opened, 0.0)
            for number in range(5):
                await begin(slots, opened, f"late {number}", 0.0)
            left = Counter(each.slot.caller for each in running if not each.is_preempted)
            assert left == {"greedy": 1, "other": 1, "another": 1}
            with pytest.raises(UnavailableError, match="more than 8 exports at once"):
                await begin(slots, opened, "latest", 0.0)  # every caller has one

    asyncio.run(scenario())


@pytest.mark.usefixtures("at_once")
def test_one_whose_reader_waits_for_a_chunk_is_cut_last() -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as opened:
            slots = DownloadSlots()
            running = await fill(slots, opened, float("inf"))
            running[3].waits_since = 0.0
            for number in range(2):
                await begin(slots, opened, f"late {number}", 0.0)
            cut = [each.is_preempted for each in running]
            assert cut[3]
            assert cut.count(True) == 2

    asyncio.run(scenario())


def test_a_caller_with_half_of_the_places_is_rejected_at_once() -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as opened:
            slots = DownloadSlots()
            await fill(slots, opened, 0.0)
            with pytest.raises(UnavailableError, match="more than 8 exports at once"):
                await begin(slots, opened, "greedy", 0.0)

    asyncio.run(scenario())


def test_a_slow_reader_is_cut_once_somebody_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that takes a chunk now and then would otherwise keep its slots forever."""
    monkeypatch.setattr(download_slots, "UNUSED_SECONDS", 0.5)

    async def scenario() -> None:
        async with AsyncExitStack() as opened:
            slots = DownloadSlots()
            running = await fill(slots, opened, 0.0)

            async def read_on() -> None:
                while True:
                    for each in running:
                        each.waits_since = asyncio.get_running_loop().time()
                    await asyncio.sleep(0.01)

            reading = asyncio.create_task(read_on())
            await asyncio.sleep(0)
            await begin(slots, opened, "late", 0.0)
            reading.cancel()
            assert [each.slot.caller for each in running if each.is_preempted] == ["greedy"]

    asyncio.run(scenario())


def test_places_that_become_free_go_to_those_who_have_fewest_and_then_to_those_who_came_first() -> None:
    async def scenario() -> list[str]:
        slots = DownloadSlots()
        served = []
        free = asyncio.Event()

        async def download(caller: str) -> None:
            current_caller.set(caller)
            async with slots.slot():
                served.append(caller)
                await free.wait()

        async with AsyncExitStack() as opened, AsyncExitStack() as opened_by_greedy:
            for caller, stack in [*[("greedy", opened_by_greedy)] * 6, ("other", opened), ("another", opened)]:
                await begin(slots, stack, caller, float("inf"))
            tasks = [asyncio.create_task(download(caller)) for caller in ("other", "newcomer", "newest")]
            await asyncio.sleep(0)
            await opened_by_greedy.aclose()
            for _ in range(10):
                await asyncio.sleep(0)
            free.set()
            await asyncio.gather(*tasks)
        return served

    assert asyncio.run(scenario()) == ["newcomer", "newest", "other"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(0, 3)), max_size=60))
def test_nothing_is_held_in_the_end_and_never_too_many_at_once(steps: list[tuple[str, bool, int]]) -> None:
    async def scenario() -> None:
        slots = DownloadSlots()
        running = 0

        async def download(caller: str, rounds: int) -> None:
            nonlocal running
            current_caller.set(caller)
            async with slots.slot():
                running += 1
                assert running <= MAX_DOWNLOADS
                for _ in range(rounds):
                    await asyncio.sleep(0)
                running -= 1

        tasks = []
        for caller, is_cancelled, rounds in steps:
            tasks.append(asyncio.create_task(download(caller, rounds)))
            await asyncio.sleep(0)
            if is_cancelled:
                tasks[len(tasks) // 2].cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            assert result is None or isinstance(result, UnavailableError | asyncio.CancelledError), result
        async with AsyncExitStack() as opened:
            for number in range(MAX_DOWNLOADS):
                await begin(slots, opened, f"after {number}", 0.0)

    asyncio.run(scenario())


def test_few_may_wait() -> None:
    async def scenario() -> Counter[str]:
        async with AsyncExitStack() as opened:
            slots = DownloadSlots()
            await fill(slots, opened, float("inf"))
            tasks = [
                asyncio.create_task(begin(slots, opened, f"caller {number}", 0.0)) for number in range(2 * MAX_WAITING)
            ]
            await asyncio.sleep(0)
            found = Counter(str(task.exception()) for task in tasks if task.done())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return found

    assert asyncio.run(scenario()) == {f"more than {MAX_WAITING} exports wait": MAX_WAITING}
