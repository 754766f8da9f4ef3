"""Sessions are deleted while runs start in them, in random order."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest

from spanwise import Agent, Service
from support.in_process.client import client_of

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

SEED = 20261122
ROUNDS = 30


async def echo(message: str) -> str:
    await asyncio.sleep(0)
    return message


async def run_in(client: httpx.AsyncClient, session_id: str) -> str:
    form = {"message": "x", "stream": "false", "session_id": session_id}
    response = await client.post("/agents/echo/runs", data=form)
    assert response.status_code in {200, 409}, response.text
    return response.json()["run_id"] if response.status_code == 200 else ""


async def delete(client: httpx.AsyncClient, session_id: str) -> str:
    response = await client.delete(f"/sessions/{session_id}")
    assert response.status_code in {204, 404, 409}, response.text
    return ""


async def at_once(folder: Path, rng: random.Random) -> None:
    service = Service(agents=[Agent(echo, id="echo")], callers="open", settings={"data_dir": str(folder)})
    await service.open()
    try:
        async with client_of(service) as client:
            for number in range(ROUNDS):
                session_id = f"s{number}"
                await run_in(client, session_id)
                steps = [delete, delete, run_in, run_in, run_in]
                rng.shuffle(steps)
                completed = await asyncio.gather(*(step(client, session_id) for step in steps))
                response = await client.get(f"/sessions/{session_id}/runs")
                found = [each["run_id"] for each in response.json()] if response.status_code == 200 else []
                for run_id in filter(None, completed):
                    kept = await client.get(f"/agents/echo/runs/{run_id}")
                    assert (kept.status_code == 200) == (run_id in found), "a run is kept with its session only"
                assert response.status_code == 404 or found, "a session without runs came back"
                await delete(client, session_id)
                assert (await client.get(f"/sessions/{session_id}")).status_code == 404
    finally:
        await service.close()


@pytest.mark.parametrize("seed", range(3))
def test_a_session_is_deleted_with_all_its_runs_or_not_at_all(tmp_path: Path, seed: int) -> None:
    asyncio.run(at_once(tmp_path, random.Random(SEED + seed)))
