"""A service inside another application."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx
from starlette.applications import Starlette
from starlette.routing import Mount

from spanwise import Service, StoreLockedError, TraceStore
from support.clients.otlp import export_request
from support.in_process.client import client_of

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from pathlib import Path

JSON = {"Content-Type": "application/json"}


def test_opened_by_hand_it_serves_and_closed_it_rejects(tmp_path: Path) -> None:
    async def scenario() -> None:
        service = Service(traces=str(tmp_path / "traces"), callers="open")
        await service.open()
        async with client_of(service) as client:
            response = await client.post("/v1/traces", content=export_request("a" * 32, "b" * 16), headers=JSON)
            assert response.status_code == 200
            found = (await client.post("/traces/search", json={})).json()
            assert [item["trace_id"] for item in found["data"]] == ["a" * 32]
            await service.close()
            rejected = await client.post("/traces/search", json={})
            assert (rejected.status_code, rejected.json()["detail"]) == (503, "the service is shutting down")

    asyncio.run(scenario())


def test_not_opened_the_first_request_begins_to_open_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        service = Service(traces=str(tmp_path / "traces"), callers="open")
        async with client_of(service) as client, asyncio.timeout(30):
            assert (await client.get("/health", params={"ready": "true"})).status_code == 503
            first = await client.post("/traces/search", json={})
            assert (first.status_code, first.json()["detail"]) == (503, "the trace store is being opened")
            while (await client.post("/traces/search", json={})).status_code != 200:  # noqa: ASYNC110  # as a client does
                await asyncio.sleep(0.01)
            assert (await client.get("/health", params={"ready": "true"})).status_code == 200
        await service.close()

    asyncio.run(scenario())


def test_below_a_prefix_of_another_application_the_routes_are_the_same(tmp_path: Path) -> None:
    async def scenario() -> None:
        service = Service(traces=tmp_path / "traces", callers="open")
        outer = Starlette(routes=[Mount("/observed", service.app)])
        await service.open()
        transport = httpx.ASGITransport(outer)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.get("/observed/health", headers={"Host": "outer"})).status_code == 200
            assert (await client.get("/observed/traces", headers={"Host": "outer"})).status_code == 403
            assert (await client.post("/observed/traces/search", json={})).status_code == 200
            unknown = await client.get("/observed/nope")
            assert (unknown.status_code, unknown.json()["error_code"]) == (404, "NOT_FOUND")
        await service.close()

    asyncio.run(scenario())


async def live(service: Service, *events: str) -> list[str]:
    """Returns the events that the application sends during its lifespan."""
    responses: list[str] = []
    waiting = list(events)

    async def receive() -> dict[str, Any]:
        return {"type": waiting.pop(0)}

    async def send(message: MutableMapping[str, Any]) -> None:
        responses.append(message["type"])

    with suppress(StoreLockedError):
        await service.app({"type": "lifespan", "state": {}}, receive, send)
    return responses


def test_its_lifespan_opens_and_closes_the_store(tmp_path: Path) -> None:
    async def scenario() -> None:
        events = ["lifespan.startup", "lifespan.shutdown"]
        folder = str(tmp_path / "traces")
        assert await live(Service(traces=folder), *events) == [
            "lifespan.startup.complete",
            "lifespan.shutdown.complete",
        ]
        holder = TraceStore.open(folder)
        assert await live(Service(traces=folder), *events) == ["lifespan.startup.failed"]
        holder.close()

    asyncio.run(scenario())


def test_a_store_of_the_caller_is_left_open(tmp_path: Path) -> None:
    async def scenario(store: TraceStore) -> None:
        service = Service(traces=store, callers="open")
        async with client_of(service) as client:
            assert (await client.post("/traces/search", json={})).status_code == 200
        await service.close()

    store = TraceStore.open(str(tmp_path / "traces"))
    asyncio.run(scenario(store))
    assert store.stats()
    store.close()
