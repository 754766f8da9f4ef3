"""Traces of one span each, known by a number, in a store of this process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spanwise import Filter
from support.otlp_requests import export_of

if TYPE_CHECKING:
    from spanwise import TraceStore

EVERYTHING = Filter.compile(b"{}")


def ingest(store: TraceStore, *numbers: int, **attributes: str) -> None:
    """Sends the traces of these numbers, each in a request of its own; returns when they are acknowledged."""
    for number in numbers:
        store.ingest(export_of(f"{number:032x}", "00000000000000a1", **attributes), "application/json")


def together(traces: dict[int, dict[str, str]]) -> bytes:
    """Returns one request with the traces of these numbers; of each the attributes of its span."""
    exports = [
        json.loads(export_of(f"{number:032x}", "00000000000000a1", **attributes))
        for number, attributes in traces.items()
    ]
    return json.dumps({"resourceSpans": [spans for export in exports for spans in export["resourceSpans"]]}).encode()


def shown(store: TraceStore) -> set[int]:
    """Returns the numbers of the traces that a search finds, at most a hundred."""
    page = store.search_runs(EVERYTHING, 1, 100)
    found = {int(item["trace_id"], 16) for item in json.loads(page.data)}
    assert len(found) == page.total_count
    return found
