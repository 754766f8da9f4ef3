"""The overhead of a run over its callable, runs per second over HTTP, and events per second in a stream."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spanwise.components import Agent
from spanwise.database.sqlite import SqliteDatabase
from spanwise.fair_budget import FairBudget
from spanwise.registry import Registry
from spanwise.runs import RunRequest, Runs
from spanwise.settings import Settings
from spanwise.traces.recording.recorder import Recorder
from spanwise.traces.service import Traces
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

HERE = Path(__file__).parent
ROUNDS = 5
RUNS = 96
"""Runs per round."""
EVENTS = 2_000
"""Chunks of one streamed response."""


async def empty(message: str) -> str:
    return message


class Hosting:
    """Runs components in this process, with a data folder."""

    def __init__(self, folder: Path, runner: asyncio.Runner) -> None:
        settings = Settings(data_dir=str(folder))
        self.runner = runner
        self.traces = Traces({"default": str(folder / "traces")}, settings)
        budget = FairBudget(settings.event_buffer_bytes, "too many bytes of events at once")
        self.runs = Runs(
            lambda: SqliteDatabase(folder / "runs.db"),
            Registry({}),
            lambda: Recorder(self.traces, "bench"),
            RUNS,
            budget,
        )

    async def open(self) -> None:
        await self.traces.open()
        await self.runs.open()

    async def close(self) -> None:
        await self.runs.close()
        await self.traces.close()

    async def run(self, agent: Agent) -> None:
        live = await self.runs.start(agent, RunRequest(message="x"))
        await live.ended()
        assert live.result["status"] == "COMPLETED"


@pytest.fixture
def hosting(tmp_path: Path) -> Iterator[Hosting]:
    with asyncio.Runner() as runner:
        found = Hosting(tmp_path, runner)
        runner.run(found.open())
        yield found
        runner.run(found.close())


@pytest.fixture
def hosted(tmp_path: Path) -> Iterator[RunningService]:
    """A server that hosts `run_components`."""
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")]))
    with RunningService(tmp_path / "data", "run_components:service", PYTHONPATH=path) as running:
        yield running


def test_the_bare_callable(benchmark: BenchmarkFixture) -> None:
    async def call() -> None:
        for _ in range(RUNS):
            assert await empty("x") == "x"

    benchmark.group = f"{RUNS} runs in process"
    with asyncio.Runner() as runner:
        benchmark.pedantic(lambda: runner.run(call()), rounds=ROUNDS, warmup_rounds=1)


@pytest.mark.parametrize("at_once", [1, 32])
def test_runs_in_process(at_once: int, hosting: Hosting, benchmark: BenchmarkFixture) -> None:
    agent = Agent(empty, id="empty")

    async def call() -> None:
        for _ in range(0, RUNS, at_once):
            await asyncio.gather(*(hosting.run(agent) for _ in range(at_once)))

    benchmark.group = f"{RUNS} runs in process"
    benchmark.pedantic(lambda: hosting.runner.run(call()), rounds=ROUNDS, warmup_rounds=1)
    if benchmark.stats:
        benchmark.extra_info["milliseconds_per_run"] = round(1000 * benchmark.stats.stats.median / RUNS, 3)


@pytest.mark.parametrize("clients", [1, 16])
def test_runs_over_http(clients: int, hosted: RunningService, benchmark: BenchmarkFixture) -> None:
    def run(_number: int) -> None:
        response = hosted.http.post("/agents/empty/runs", data={"message": "x", "stream": "false"})
        assert response.json()["status"] == "COMPLETED"

    benchmark.group = f"{RUNS} runs over HTTP"
    with ThreadPoolExecutor(clients) as pool:
        benchmark.pedantic(lambda: list(pool.map(run, range(RUNS))), rounds=ROUNDS, warmup_rounds=1)
    assert hosted.search(limit=1).json()["meta"]["total_count"] >= RUNS
    if benchmark.stats:
        benchmark.extra_info["runs_per_second"] = round(RUNS / benchmark.stats.stats.median)


def test_events_through_server_sent_events(hosted: RunningService, benchmark: BenchmarkFixture) -> None:
    def read() -> None:
        with hosted.http.stream("POST", "/agents/chunks/runs", data={"message": str(EVENTS)}) as response:
            text = b"".join(response.iter_raw())
        assert text.count(b"event: RunContent\n") == EVENTS
        assert b"event: RunCompleted\n" in text

    benchmark.group = "one streamed run"
    benchmark.pedantic(read, rounds=ROUNDS, warmup_rounds=1)
    if benchmark.stats:
        benchmark.extra_info["events_per_second"] = round(EVENTS / benchmark.stats.stats.median)
