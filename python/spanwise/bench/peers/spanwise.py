"""Spanwise, through the door: a filter as JSON goes in, a page of ids or of sessions comes out.

As of the peers, ids and a total are asked for; they are read out of the JSON within the time that is taken. Span trees
are timed apart, over HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwise.bench.peers import Answer
from spanwise.traces import Filter, TraceStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanwise.bench.peers import Question


class _Session(msgspec.Struct):
    session_id: str


_ids = msgspec.json.Decoder(list[str])
_sessions = msgspec.json.Decoder(list[_Session])


class SpanwiseEngine:
    """A store that was built beforehand."""

    def __init__(self, store: Path) -> None:
        """Opens the store in that folder."""
        self.store = TraceStore.open(str(store))

    def prepare(self, question: Question) -> Callable[[], Answer]:
        """Returns what answers `question`."""
        source, page, limit = msgspec.json.encode(question.filter), question.page, question.limit

        def find_runs() -> Answer:
            found = self.store.search_ids(Filter.compile(source), page, limit)
            return Answer(_ids.decode(found.data), found.total_count)

        def find_sessions() -> Answer:
            found = self.store.search_sessions(Filter.compile(source), page, limit)
            return Answer([session.session_id for session in _sessions.decode(found.data)], found.total_count)

        return find_runs if question.group_by == "run" else find_sessions

    def close(self) -> None:
        """Closes the store."""
        self.store.close()
