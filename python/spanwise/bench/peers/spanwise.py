"""Spanwise, called in process: from a filter in JSON to a page of ids or sessions.

Like the peers, it returns ids and a total. The measured time includes decoding them from JSON. Span trees are measured
separately, over HTTP.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from spanwise.bench import machine
from spanwise.bench.peers import QueryResult
from spanwise.traces import Filter, TraceStore
from spanwise.traces.search import queries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanwise.bench.peers import Query


class _SessionItem(msgspec.Struct):
    session_id: str


WITHOUT_INDEXES = json.dumps({"indexes": []}).encode()
"""Options of a store that makes no indexes of documents."""
_ids = msgspec.json.Decoder(list[str])
_sessions = msgspec.json.Decoder(list[_SessionItem])


class SpanwiseEngine:
    """A store built in advance."""

    def __init__(self, store: Path) -> None:
        """Opens the store in a folder, with the indexes of its rows in memory, as the peers hold theirs.

        No thread makes indexes of documents beside: these queries use none.
        """
        self.store = TraceStore.open(str(store), WITHOUT_INDEXES)
        self._indexes = list(store.glob("cache/*/index"))
        for index in self._indexes:
            machine.read_into_memory(index)

    def keep_in_memory(self) -> None:
        """Has every page of the indexes of rows in memory and mapped, as the rows of peers are once they are made."""
        machine.map_into_memory(self._indexes)

    def prepare(self, query: Query) -> Callable[[], QueryResult]:
        """Returns a function that executes `query`."""
        source, page, limit = msgspec.json.encode(query.filter), query.page, query.limit

        def compiled() -> Filter:
            asked = Filter.compile(source)
            return asked if query.user is None else asked.restrict("user_id", query.user)

        def find_runs() -> QueryResult:
            found = self.store.query(queries.ids(compiled(), page, limit, (query.sort.key, query.sort.ascending)))
            return QueryResult(_ids.decode(found.data), found.total)

        def find_sessions() -> QueryResult:
            found = self.store.query(queries.sessions(compiled(), page, limit))
            return QueryResult([session.session_id for session in _sessions.decode(found.data)], found.total)

        return find_sessions if query.group_by == "session" else find_runs

    def close(self) -> None:
        """Closes the store."""
        self.store.close()
