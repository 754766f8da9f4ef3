"""Spanwise, called in process: from a filter in JSON to a page of ids and the exact total."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwise.bench.contents import LIMIT
from spanwise.bench.peers import QueryResult
from spanwise.traces import Filter, TraceStore
from spanwise.traces.search import queries

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.bench.contents import Question

_ids = msgspec.json.Decoder(list[str])


class SpanwiseEngine:
    """A store built in advance."""

    def __init__(self, store: TraceStore) -> None:
        """Takes ownership of an open store."""
        self._store = store

    def prepare(self, question: Question, page: int = 1) -> Callable[[], QueryResult]:
        """Returns a function that answers `question`."""
        source = msgspec.json.encode(question.filter)

        def find() -> QueryResult:
            found = self._store.query(queries.ids(Filter.compile(source), page, LIMIT))
            return QueryResult(_ids.decode(found.data), found.total)

        return find

    def close(self) -> None:
        """Closes the store."""
        self._store.close()
