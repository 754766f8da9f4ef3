"""Spanwise, called in process: from a filter in JSON to a page of ids or sessions.

Like the peers, it returns ids and a total. The measured time includes decoding them from JSON. Span trees are measured
separately, over HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwise.bench.peers import NEWEST_FIRST, QueryResult
from spanwise.traces import Filter, TraceStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanwise.bench.peers import Query


class _SessionItem(msgspec.Struct):
    session_id: str


class _TraceItem(msgspec.Struct):
    trace_id: str


_ids = msgspec.json.Decoder(list[str])
_traces = msgspec.json.Decoder(list[_TraceItem])
_sessions = msgspec.json.Decoder(list[_SessionItem])


class SpanwiseEngine:
    """A store built in advance."""

    def __init__(self, store: Path) -> None:
        """Opens the store in a folder."""
        self.store = TraceStore.open(str(store))

    def prepare(self, query: Query) -> Callable[[], QueryResult]:
        """Returns a function that executes `query`."""
        source, page, limit = msgspec.json.encode(query.filter), query.page, query.limit

        def compiled() -> Filter:
            asked = Filter.compile(source)
            return asked if query.user is None else asked.restrict("user_id", query.user)

        def find_runs() -> QueryResult:
            found = self.store.search_ids(compiled(), page, limit)
            return QueryResult(_ids.decode(found.data), found.total_count)

        def find_sorted_runs() -> QueryResult:
            # There are no sorted ids: this reads what a list shows of each trace besides.
            found = self.store.search_runs(compiled(), page, limit, "preview", (query.sort.key, query.sort.ascending))
            return QueryResult([trace.trace_id for trace in _traces.decode(found.data)], found.total_count)

        def find_sessions() -> QueryResult:
            found = self.store.search_sessions(compiled(), page, limit)
            return QueryResult([session.session_id for session in _sessions.decode(found.data)], found.total_count)

        if query.group_by == "session":
            return find_sessions
        return find_runs if query.sort == NEWEST_FIRST else find_sorted_runs

    def close(self) -> None:
        """Closes the store."""
        self.store.close()
