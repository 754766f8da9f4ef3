"""Many clients at once: no data is mixed up or leaked, and slow clients do not delay others.

`TESTS_LOAD=5 pytest tests/live/test_load.py` multiplies the load by five.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from websockets.asyncio.client import connect

from support.services.hosted import factory_calls, run, start_hosted, stream

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from support.services.process import RunningService

LOAD = float(os.environ.get("TESTS_LOAD", "1"))
RUNS = int(1000 * LOAD)
LEAVING = int(200 * LOAD)
AT_ONCE = max(RUNS, LEAVING)
READERS = 20
MAX_MEBIBYTES = 64


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with start_hosted(tmp_path_factory.mktemp("loaded"), "--max-websockets", "512") as service:
        yield service
        assert service.stop() == 0


def gauges(service: RunningService) -> dict[str, float]:
    """Returns the number of open runs, streams and WebSockets."""
    text = service.http.get("/metrics").text
    found = dict(re.findall(r"^(spanwise_\w+) (\S+)$", text, re.MULTILINE))
    names = {"run": "active_runs", "stream": "open_event_streams", "socket": "open_websockets"}
    return {kind: float(found[f"spanwise_{name}"]) for kind, name in names.items()}


def resident_mebibytes(service: RunningService) -> float:
    with open(f"/proc/{service.process.pid}/status", encoding="utf-8") as status:  # noqa: PTH123  # a kernel file
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def files(service: RunningService) -> int:
    return len(os.listdir(f"/proc/{service.process.pid}/fd"))  # noqa: PTH208  # likewise


def threads(service: RunningService) -> int:
    return len(os.listdir(f"/proc/{service.process.pid}/task"))  # noqa: PTH208  # likewise


def settled(reading: Callable[[], Any], good: Callable[[Any], bool]) -> Any:
    """Reads until a value is as expected and returns it. Returns the last value after ten seconds."""
    for _ in range(200):
        if good(found := reading()):
            return found
        time.sleep(0.05)
    return found


async def at_once(asks: list[Callable[[httpx.AsyncClient], Awaitable[Any]]], url: str) -> list[Any]:
    """Awaits all, at most `limit` at once, and returns their results."""
    gate = asyncio.Semaphore(AT_ONCE)
    limits = httpx.Limits(max_connections=AT_ONCE)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:

        async def ask(one: Callable[[httpx.AsyncClient], Awaitable[Any]]) -> Any:
            async with gate:
                return await one(client)

        return await asyncio.gather(*map(ask, asks))


def test_many_runs_of_factories_are_one_call_and_one_component_each(hosted: RunningService) -> None:
    def over_http(number: int) -> Callable[[httpx.AsyncClient], Awaitable[Any]]:
        async def ask(client: httpx.AsyncClient) -> Any:
            form = {
                "message": f"m{number}",
                "stream": "false",
                "user_id": f"u{number}",
                "session_id": f"s{number}",
                "factory_input": json.dumps({"size": number}),
            }
            return (await client.post("/workflows/counted/runs", data=form)).json()

        return ask

    before = factory_calls(hosted)
    results = asyncio.run(at_once([over_http(number) for number in range(RUNS)], hosted.url))
    for number, result in enumerate(results):
        content = json.loads(result["content"])
        assert content.pop("serial") > 0
        assert content == {"message": f"m{number}", "user": f"u{number}", "session": f"s{number}", "size": number}
        assert (result["user_id"], result["session_id"]) == (f"u{number}", f"s{number}")
    assert len({json.loads(result["content"])["serial"] for result in results}) == RUNS
    calls = factory_calls(hosted)[len(before) :]
    assert sorted(calls) == sorted(f'counted {{"size":{number}}}' for number in range(RUNS))
    assert len({result["metadata"]["trace_id"] for result in results}) == RUNS
    for number in random.Random(3).sample(range(RUNS), 20):
        (trace,) = hosted.items(filter={"op": "EQ", "key": "run_id", "value": results[number]["run_id"]})
        assert (trace["user_id"], trace["session_id"], trace["input"]) == (f"u{number}", f"s{number}", f"m{number}")


async def leaves_a_stream(client: httpx.AsyncClient, rng: random.Random) -> None:
    events = rng.randint(0, 4)
    async with client.stream("POST", "/workflows/soon/runs", data={"message": "x"}) as response:
        async for line in response.aiter_lines():
            events -= line.startswith("event:")
            if events < 0:
                return


async def leaves_a_socket(url: str, rng: random.Random) -> None:
    messages = rng.randint(0, 4)
    async with connect(url.replace("http", "ws") + "/workflows/ws", proxy=None) as connection:
        await connection.send(json.dumps({"action": "start-workflow", "workflow_id": "soon", "message": "x"}))
        for _ in range(messages):
            await connection.recv()
        if rng.random() < 0.5:
            connection.transport.abort()


def test_clients_that_disconnect_at_random_leak_nothing(hosted: RunningService) -> None:
    def leave(number: int) -> Callable[[httpx.AsyncClient], Awaitable[Any]]:
        rng = random.Random(number)
        if number % 2:
            return lambda client: leaves_a_stream(client, rng)
        return lambda _: leaves_a_socket(hosted.url, rng)

    asyncio.run(at_once([leave(number) for number in range(20)], hosted.url))
    nothing = {"run": 0.0, "stream": 0.0, "socket": 0.0}
    assert settled(lambda: gauges(hosted), lambda found: found == nothing) == nothing
    mebibytes, before = resident_mebibytes(hosted), files(hosted)
    asyncio.run(at_once([leave(number) for number in range(LEAVING)], hosted.url))
    assert settled(lambda: gauges(hosted), lambda found: found == nothing) == nothing
    assert settled(lambda: files(hosted), lambda found: found <= before + 2) <= before + 2
    grown = settled(lambda: resident_mebibytes(hosted) - mebibytes, lambda found: found < MAX_MEBIBYTES)
    assert grown < MAX_MEBIBYTES
    sessions = hosted.http.get("/sessions", params={"type": "workflow", "component_id": "soon", "limit": 1}).json()
    assert sessions["meta"]["total_count"] == 20 + LEAVING


def reader_of(service: RunningService, path: str, form: bytes = b"") -> socket.socket:
    """Returns a client that requests a stream and does not read it."""
    reader = socket.create_connection(("127.0.0.1", service.port))
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    reader.sendall(head.encode() + b"Content-Length: %d\r\n\r\n" % len(form) + form)
    return reader


def test_clients_that_do_not_read_cost_little_and_delay_no_run(hosted: RunningService) -> None:
    with ExitStack() as readers:
        readers.enter_context(reader_of(hosted, "/workflows/long-winded/runs", b"message=8&session_id=s-long"))
        streaming = {"run": 0.0, "stream": 1.0, "socket": 0.0}
        assert settled(lambda: gauges(hosted), lambda found: found == streaming) == streaming
        runs = settled(
            lambda: hosted.http.get("/workflows/long-winded/runs?session_id=s-long").json(),
            lambda found: [each["status"] for each in found] == ["COMPLETED"],
        )
        (long,) = runs
        assert long["status"] == "COMPLETED"
        mebibytes = resident_mebibytes(hosted)
        for _ in range(READERS):
            readers.enter_context(reader_of(hosted, f"/workflows/long-winded/runs/{long['run_id']}/resume"))
        streaming["stream"] += READERS
        assert settled(lambda: gauges(hosted), lambda found: found == streaming) == streaming
        time.sleep(1)
        assert resident_mebibytes(hosted) - mebibytes < MAX_MEBIBYTES
    nothing = {"run": 0.0, "stream": 0.0, "socket": 0.0}
    assert settled(lambda: gauges(hosted), lambda found: found == nothing) == nothing
    events = stream(hosted, "workflows/long-winded", "1")
    assert sum(len(event["content"]) for event in events if event["event"] == "CustomEvent") == 1024 * 1024


def test_factories_that_sleep_delay_no_other_route(hosted: RunningService) -> None:
    with ThreadPoolExecutor(51) as pool:
        asleep = [pool.submit(run, hosted, "workflows/sleeping", str(number)) for number in range(50)]
        hanging = pool.submit(run, hosted, "agents/hanging")
        others = []
        while not all(sleeper.done() for sleeper in asleep):
            begun = time.perf_counter()
            assert hosted.http.get("/health").is_success
            assert run(hosted, "agents/echo").json()["status"] == "COMPLETED"
            others.append(time.perf_counter() - begun)
    assert {sleeper.result().json()["status"] for sleeper in asleep} == {"COMPLETED"}
    assert hanging.result().status_code == 500
    assert len(others) > 1
    assert threads(hosted) < 400
