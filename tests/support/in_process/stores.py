"""A trace store in the process of the test, filled with numbered traces of one span each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from spanwise import Filter, TraceStore
from spanwise.cluster.shards.layout import Layout
from spanwise.cluster.shards.local import LocalShard
from spanwise.cluster.store import ShardedStore
from spanwise.traces.search import queries
from support.clients.otlp import export_request

if TYPE_CHECKING:
    from pathlib import Path

    from spanwise.store_protocol import Store

EVERYTHING = Filter.compile(b"{}")


def open_sharded(folder: Path, count: int, **options: Any) -> ShardedStore:
    """Returns a sharded store over new stores of this process in a folder."""
    layout = Layout.of(count)
    shards = [LocalShard(TraceStore.open(str(folder / shard.store)), layout.number) for shard in layout.shards]
    return ShardedStore(layout, shards, **options)


def ingest(store: Store, *numbers: int, **attributes: str) -> None:
    """Ingests the traces with these numbers, one request each. Returns once all are acknowledged."""
    for number in numbers:
        store.ingest(export_request(f"{number:032x}", "00000000000000a1", **attributes), "application/json")


def request_of_traces(traces: dict[int, dict[str, str]]) -> bytes:
    """Returns a single request with several traces, given as a map from the trace's number to its span's attributes."""
    exports = [
        json.loads(export_request(f"{number:032x}", "00000000000000a1", **attributes))
        for number, attributes in traces.items()
    ]
    return json.dumps({"resourceSpans": [spans for export in exports for spans in export["resourceSpans"]]}).encode()


def found_traces(store: Store) -> set[int]:
    """Returns the numbers of the traces that a search finds (at most 100)."""
    page = store.query(queries.runs(EVERYTHING, 1, 100))
    found = {int(item["trace_id"], 16) for item in json.loads(page.data)}
    assert len(found) == page.total
    return found
