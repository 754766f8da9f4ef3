"""`GET /traces/export`: the caller's own traces as a file, in every format."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spanwise import AuthorizationConfig, Filter, Service, TraceStore
from spanwise.errors import UnavailableError
from spanwise.fair_budget import current_caller
from spanwise.traces import download_slots
from spanwise.traces.download import FORMATS, Downloads
from spanwise.traces.download_slots import MAX_DOWNLOADS
from support.clients.tokens import as_admin, as_caller, signing_key

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from pathlib import Path

FAILED = '{"op": "EQ", "key": "status", "value": "ERROR"}'
EVERYTHING = Filter.compile(b"null")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TraceStore]:
    """Yields a store with six traces. Half of them are Ann's, and a third failed."""
    opened = TraceStore.open(str(tmp_path_factory.mktemp("exported") / "traces"))
    opened.ingest(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [*map(span, range(6))]}]}]}).encode(), JSON)
    yield opened
    opened.close()


JSON = "application/json"


def span(number: int) -> dict[str, Any]:
    user = {"key": "user.id", "value": {"stringValue": ("ann", "bob")[number % 2]}}
    times = {"startTimeUnixNano": str(10**18 + number), "endTimeUnixNano": str(10**18 + 10**9)}
    ids = {"traceId": f"{number + 1:032x}", "spanId": "a" * 16, "name": "run"}
    return {**ids, **times, "attributes": [user], "status": {"code": 2 if number % 3 == 0 else 1}}


def request_export(store: TraceStore, headers: dict[str, str], **query: str) -> httpx.Response:
    async def scenario() -> httpx.Response:
        keys = AuthorizationConfig(verification_keys=[signing_key().public_text or ""])
        service = Service(traces=store, authorization=True, authorization_config=keys)
        transport = httpx.ASGITransport(service.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            response = await client.get("/traces/export", params=query, headers=headers)
        await service.close()
        return response

    return asyncio.run(scenario())


def trace_ids(content: bytes, form: str, tmp_path: Path) -> set[str]:
    match form:
        case "parquet":
            table = pq.read_table(pa.BufferReader(content))
        case "arrow":
            table = pa.ipc.open_stream(content).read_all()
        case "ndjson":
            return {json.loads(line)["trace_id"] for line in content.splitlines()}
        case _:
            copy = TraceStore.open(str(tmp_path / "copy"))
            copy.ingest(content, "application/x-protobuf")
            table = pa.table(copy.scan(EVERYTHING))
            copy.close()
    return set(table["trace_id"].to_pylist())


@pytest.mark.parametrize("form", FORMATS)
def test_a_caller_gets_its_own_traces_that_the_filter_matches(store: TraceStore, form: str, tmp_path: Path) -> None:
    response = request_export(store, as_caller("ann", "traces:read"), format=form, filter=FAILED)
    assert response.status_code == 200
    assert response.headers["content-type"] == FORMATS[form]
    assert response.headers["content-disposition"] == f'attachment; filename="traces.{form}"'
    assert trace_ids(response.content, form, tmp_path / "own") == {f"{1:032x}"}
    everyones = request_export(store, as_admin(), format=form)
    assert trace_ids(everyones.content, form, tmp_path / "all") == {f"{number:032x}" for number in range(1, 7)}
    nobodys = request_export(store, as_caller("nobody", "traces:read"), format=form)
    assert nobodys.status_code == 200
    assert trace_ids(nobodys.content, form, tmp_path / "none") == set()


def test_what_cannot_be_exported_is_rejected_before_anything_is_sent(store: TraceStore) -> None:
    rejections = [
        ({"format": "csv"}, 422, "Invalid enum value 'csv' - at `format`"),
        ({"filter": '{"op": "XX", "key": "name"}'}, 400, "unknown operator `XX` - at `$.op`"),
        ({"filter": "[]"}, 422, "Expected `object | null`, got `array` - at `$.filter`"),
        ({"db_id": "other"}, 404, "No database found with id 'other'"),
    ]
    for query, status, detail in rejections:
        response = request_export(store, as_admin(), **query)
        assert (response.status_code, response.json()["detail"]) == (status, detail)
    assert request_export(store, as_caller("ann", "traces:write")).status_code == 403
    assert request_export(store, {}).status_code == 401


def test_exports_are_limited_in_number_and_release_their_slot(store: TraceStore) -> None:
    async def scenario() -> None:
        downloads = Downloads()
        begun = [await downloads.run(lambda: store.export(EVERYTHING, "ndjson")) for _ in range(MAX_DOWNLOADS)]
        for pieces in begun:
            assert await anext(pieces)
        with pytest.raises(UnavailableError, match="more than 8 exports at once"):
            await downloads.run(lambda: store.export(EVERYTHING, "ndjson"))
        await begun[0].aclose()
        again = await downloads.run(lambda: store.export(EVERYTHING, "ndjson"))
        assert len([piece async for piece in again]) == 1
        never_read = await downloads.run(lambda: store.export(EVERYTHING, "ndjson"))
        await never_read.aclose()
        for pieces in begun:
            await pieces.aclose()
        downloads.pool.close()

    asyncio.run(scenario())


def test_an_export_that_lost_its_place_fails_when_its_reader_asks_for_more(
    store: TraceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        monkeypatch.setattr(download_slots, "UNUSED_SECONDS", 0.0)
        downloads = Downloads()

        async def begin(caller: str) -> AsyncGenerator[bytes, None]:
            current_caller.set(caller)
            return await downloads.run(lambda: store.export(EVERYTHING, "ndjson"))

        greedy = [await begin("greedy") for _ in range(6)]
        others = [await begin("other"), await begin("another")]
        for pieces in greedy:
            assert await anext(pieces)
        late = await begin("late")
        assert len([piece async for piece in late]) == 1
        with pytest.raises(UnavailableError, match="its slot went to a caller"):
            await anext(greedy[0])
        for pieces in [*greedy[1:], *others]:
            assert len([piece async for piece in pieces]) <= 1
        for _ in range(2 * MAX_DOWNLOADS):
            assert len([piece async for piece in await begin("late")]) == 1
        downloads.pool.close()

    asyncio.run(scenario())


def test_an_export_that_began_is_never_rejected_in_the_middle(store: TraceStore) -> None:
    """Even if others start in the meantime: an export is rejected only at its start."""

    async def scenario() -> None:
        downloads = Downloads()

        async def read(caller: str) -> int:
            current_caller.set(caller)
            try:
                pieces = await downloads.run(lambda: store.export(EVERYTHING, "ndjson"))
            except UnavailableError:
                return 0
            return len([piece async for piece in pieces])

        found = await asyncio.gather(*(read(f"caller {number % 7}") for number in range(100)))
        assert set(found) == {0, 1}, "some are rejected, for more wait than may"
        assert await read("after") == 1
        downloads.pool.close()

    asyncio.run(scenario())
