"""Aggregations in Spanwise, called in process: from the JSON of a request to its decoded response.

The response has totals too, which the peers do not compute.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from spanwise.bench.aggregates import AGENTS, END, INTERVAL, OTHERS, QUANTILE, START, Cell
from spanwise.traces import Aggregation, Query, TraceStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spanwise.bench.aggregates import Answer, Question


class _Time(msgspec.Struct):
    interval_ms: int
    starts: list[datetime]


class _Group(msgspec.Struct):
    series: dict[str, list[int | float | None]]


class _Data(msgspec.Struct):
    time: _Time
    groups: list[_Group]
    other: _Group | None = None


_decoder = msgspec.json.Decoder(_Data)
_ERROR = {"op": "EQ", "key": "status", "value": "ERROR"}
_MEASURES = [
    {"name": "count", "op": "COUNT"},
    {"name": "errors", "op": "COUNT", "where": _ERROR},
    {"name": "percentile", "op": "QUANTILE", "key": "duration_ms", "q": QUANTILE},
]


class SpanwiseEngine:
    """A store built in advance."""

    def __init__(self, store: Path) -> None:
        """Opens the store in a folder."""
        self._store = TraceStore.open(str(store))

    def prepare(self, question: Question) -> Callable[[], Answer]:
        """Returns a function that answers."""
        body: dict[str, object] = {
            "filter": question.filter,
            "time": {"from": START.isoformat(), "to": END.isoformat(), "buckets": (END - START) // INTERVAL},
            "measures": _MEASURES,
        }
        if question.by_agent:
            body["by"] = [{"key": "agent_id", "limit": AGENTS}]
        source = msgspec.json.encode(body)

        def find() -> Answer:
            compiled = Aggregation.compile(source)
            if question.user is not None:
                compiled = compiled.restrict("user_id", question.user)
            found = _decoder.decode(self._store.query(Query.of_aggregation(compiled)).data)
            first = int(found.time.starts[0].timestamp() * 1_000) // found.time.interval_ms
            groups = dict(enumerate(found.groups))
            if found.other:
                groups[OTHERS] = found.other
            return {
                (place, first + index): Cell(int(count or 0), int(errors or 0), float(value or 0))
                for place, group in groups.items()
                for index, (count, errors, value) in enumerate(zip(*group.series.values(), strict=True))
                if count
            }

        return find

    def close(self) -> None:
        """Closes the store."""
        self._store.close()
