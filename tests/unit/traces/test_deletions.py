"""The count before a deletion is a search. It has a deadline and uses no ingest thread."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec import Raw

from spanwise import TraceStore
from spanwise.errors import CancelledError, UnavailableError
from spanwise.fair_budget import current_caller
from spanwise.settings import Settings
from spanwise.traces.service import Traces
from support.clients.otlp import export_request
from support.in_process.stores import ingest

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise._engine import CancellationToken, Query, Response
    from spanwise.store_protocol import Store

EVERYTHING = Raw(b"{}")
NOTHING = Raw(b'{"op": "EQ", "key": "name", "value": "absent"}')


class SlowStore:
    """A store whose searches wait for an event, or until they are cancelled.

    Attributes:
        begun: set once a search has started.
        may_end: set to let searches end.
        deletions: the number of calls of `delete`.
    """

    def __init__(self, store: TraceStore) -> None:
        self.begun = Event()
        self.may_end = Event()
        self.deletions = 0
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def query(self, query: Query, cancel: CancellationToken) -> Response:
        self.begun.set()
        while not self.may_end.wait(0.001):
            if cancel.is_cancelled:
                raise CancelledError("the request was cancelled")
        return self._store.query(query, cancel)

    def delete(self, *arguments: Any) -> int:
        self.deletions += 1
        return self._store.delete(*arguments)


@pytest.fixture
def store(tmp_path: Path) -> SlowStore:
    opened = TraceStore.open(str(tmp_path / "traces"))
    ingest(opened, 1, 2, 3)
    return SlowStore(opened)


@pytest.mark.parametrize("dry_run", [True, False])
def test_counting_takes_no_thread_of_those_that_ingest(store: SlowStore, dry_run: bool) -> None:  # noqa: FBT001
    async def scenario() -> None:
        traces = Traces({"default": cast("Store", store)}, Settings(ingest_threads=1, search_threads=1))
        store.may_end.set()
        # The log names the first trace, which takes a search.
        await traces.ingest(export_request("4" * 32, "a" * 16), "application/json", None, None)
        store.may_end.clear()
        store.begun.clear()
        current_caller.set("greedy")
        counts = [asyncio.ensure_future(traces.view(None, None).delete(EVERYTHING, dry_run=dry_run)) for _ in range(4)]
        assert await asyncio.to_thread(store.begun.wait, 10)
        current_caller.set("modest")
        async with asyncio.timeout(10):
            report = await traces.ingest(export_request("5" * 32, "a" * 16), "application/json", None, None)
        assert report.accepted_spans == 1
        assert not any(count.done() for count in counts)
        store.may_end.set()
        deleted = await asyncio.gather(*counts)
        assert deleted == [5] * 4 if dry_run else sum(deleted) == 5
        await traces.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("dry_run", [True, False])
def test_counting_has_the_deadline_of_a_search(store: SlowStore, dry_run: bool) -> None:  # noqa: FBT001
    async def scenario() -> None:
        traces = Traces({"default": cast("Store", store)}, Settings(search_deadline_seconds=0.01))
        with pytest.raises(UnavailableError, match=r"the search took longer than 0\.01 s"):
            await traces.view(None, None).delete(EVERYTHING, dry_run=dry_run)
        assert store.deletions == 0
        await traces.close()

    asyncio.run(scenario())


def test_nothing_is_deleted_unless_something_matches_that_the_caller_may_see(store: SlowStore) -> None:
    async def scenario() -> None:
        traces = Traces({"default": cast("Store", store)}, Settings())
        assert await traces.view(None, None).delete(NOTHING, dry_run=False) == 0
        assert await traces.view(None, "ann").delete(EVERYTHING, dry_run=False) == 0
        assert await traces.view(None, None).delete(EVERYTHING, dry_run=True) == 3
        assert store.deletions == 0
        assert await traces.view(None, None).delete(EVERYTHING, dry_run=False) == 3
        assert store.deletions == 1
        await traces.close()

    store.may_end.set()
    asyncio.run(scenario())
