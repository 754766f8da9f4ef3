"""Spanwise, called in process. The measured time includes compiling the filter and decoding the facets from JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwise.bench.facets import FIELDS, LIMIT, Counts
from spanwise.traces import Filter, TraceStore
from spanwise.traces.search import queries

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanwise.bench.facets import Facets, Question


class _Value(msgspec.Struct):
    value: str
    count: int


class _Facet(msgspec.Struct):
    values: list[_Value]
    distinct: int
    missing: int


_decoder = msgspec.json.Decoder(dict[str, _Facet])


class SpanwiseEngine:
    """A store built in advance."""

    def __init__(self, store: Path) -> None:
        """Opens the store in a folder."""
        self._store = TraceStore.open(str(store))

    def prepare(self, question: Question, fields: tuple[str, ...] = FIELDS) -> Callable[[], Facets]:
        """Returns a function that answers `question` for some fields."""
        source = msgspec.json.encode(question.condition)

        def count() -> Facets:
            compiled = Filter.compile(source)
            if question.user is not None:
                compiled = compiled.restrict("user_id", question.user)
            found = _decoder.decode(self._store.query(queries.facets(compiled, list(fields), LIMIT)).data)
            return {
                field: Counts([(each.value, each.count) for each in facet.values], facet.distinct, facet.missing)
                for field, facet in found.items()
            }

        return count

    def close(self) -> None:
        """Closes the store."""
        self._store.close()
