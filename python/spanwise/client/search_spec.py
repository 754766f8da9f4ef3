"""Searches as sequences of requests, without any I/O. Both clients send the same requests.

Source: `docs/reference/api-search.md#trace-search`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, cast
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from spanwise.api.aggregates import AggregateRequest, AggregateResponse, By, TimeRange
from spanwise.api.shared import Paginated, Total
from spanwise.api.spans import SpanPage, SpanPreview, SpanSearchRequest
from spanwise.api.traces import (
    Detail,
    DetailPage,
    GroupBy,
    PreviewPage,
    SearchRequest,
    SessionPage,
    Sort,
    SortKey,
    TraceDetail,
    TracePreview,
    TraceRow,
    TraceSessionStats,
)
from spanwise.client.expressions import FilterLike, encoded, literal
from spanwise.client.transport import Request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spanwise.api.aggregates import Measure
    from spanwise.client.fields import Instant

Item = TypeVar("Item")
CountName: TypeAlias = Literal[
    "total_spans",
    "error_count",
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "llm_calls",
    "tool_calls",
]
"""The counters of a trace."""
CostName: TypeAlias = Literal["cost", "cost_partial"]
SortName: TypeAlias = Literal["start_time", "duration_ms"] | CountName | CostName
PAGE_SIZES = (100, 20, 10, 5, 1)
"""Numbers of items per page. Each divides the one before, so an oversized page is repeated as smaller pages."""
FULL_PAGE = 20
"""Traces per page with whole span trees."""


def trace_request(trace_id: str) -> Request[TraceDetail]:
    """Returns the request for one trace."""
    return Request(f"/traces/{quote(trace_id, safe='')}", TraceDetail)


class SearchSpec(Struct, frozen=True):
    """The filter and the order of a search."""

    filter: bytes
    sort: Sort = Sort()

    @classmethod
    def of(cls, source: FilterLike, sort: SortName = "start_time", *, ascending: bool = False) -> SearchSpec:
        """Creates the search for a filter.

        Raises:
            ValueError: traces cannot be sorted by `sort`.
        """
        return cls(encoded(source), Sort(SortKey(sort), ascending))

    def count(self) -> Request[PreviewPage]:
        """Returns the request for the number of traces."""
        body = SearchRequest(filter=Raw(self.filter), limit=1, detail=Detail.SUMMARY)
        return Request("/traces/search", PreviewPage, body)

    def details(self, *, matches: bool = False) -> Pages[TraceDetail]:
        """Returns the pages of the traces, with their span trees."""
        return _TracePages(self, Detail.FULL, DetailPage, matches=matches)

    def previews(self, *, matches: bool = False) -> Pages[TracePreview]:
        """Returns the pages of the traces, with the first characters of each text."""
        return _TracePages(self, Detail.SUMMARY, PreviewPage, matches=matches)

    def sessions(self) -> Pages[TraceSessionStats]:
        """Returns the pages of the sessions of the traces."""
        return _SessionPages(self)

    def spans(self, where: FilterLike, *, matches: bool = False) -> Pages[SpanPreview]:
        """Returns the pages of spans matching `where`."""
        return _SpanPages(self, where, matches=matches)

    def aggregation(
        self, measures: Mapping[str, Measure], by: Iterable[str | By], time: TimeRange | None
    ) -> Request[AggregateResponse]:
        """Returns the request for measures, by name."""
        named = [msgspec.structs.replace(measure, name=name) for name, measure in measures.items()]
        groups = [By(key) if isinstance(key, str) else key for key in by]
        body = AggregateRequest(filter=Raw(self.filter), by=groups, measures=named)
        if time is not None:
            body = msgspec.structs.replace(body, time=time)
        return Request("/traces/aggregate", AggregateResponse, body)


def time_range(buckets: int, start: Instant | None = None, end: Instant | None = None) -> TimeRange:
    """Returns a time range in buckets, by default from the earliest to the latest trace."""
    given = {"start": start, "end": end}
    return TimeRange(buckets=buckets, **{name: cast("str", literal(time)) for name, time in given.items() if time})


class Pages(Generic[Item]):
    """The pages of a search, one request after another.

    Until `is_done`, the caller sends `request` and passes the response to `take`. If the page was too large, it calls
    `shrink` instead.
    """

    def __init__(self, size: int) -> None:
        """Creates the pages of at most `size` items."""
        self.size = size
        self.is_done = False
        self._taken = 0

    def request(self) -> Request[Paginated[list[Item]]]:
        """Returns the request for the next page."""
        raise NotImplementedError

    def take(self, page: Paginated[list[Item]]) -> list[Item]:
        """Returns the items of a page, and moves on to the next page."""
        self._taken += len(page.data)
        self.is_done = len(page.data) < self.size
        return page.data

    def shrink(self) -> bool:
        """Makes pages smaller. Returns False if they already have the smallest size."""
        smaller = [size for size in PAGE_SIZES if size < self.size]
        if smaller:
            self.size = smaller[0]
        return bool(smaller)

    @property
    def _number(self) -> int:
        return self._taken // self.size + 1


class _TracePages(Pages[Item]):
    """Pages of traces.

    If sorted by start time, a page begins after the start time and id of the last trace before it. New traces therefore
    cause no duplicates or gaps, and late pages cost no more than the first.
    """

    def __init__(self, spec: SearchSpec, detail: Detail, shape: type[Paginated[list[Item]]], *, matches: bool) -> None:
        """Creates the pages of traces, with their level of detail and response shape."""
        super().__init__(FULL_PAGE if detail is Detail.FULL else PAGE_SIZES[0])
        self._spec = spec
        self._detail = detail
        self._shape = shape
        self._matches = matches
        self._last: TraceRow | None = None

    def request(self) -> Request[Paginated[list[Item]]]:
        """Returns the request for the next page."""
        sort = self._spec.sort
        is_by_time = sort.key is SortKey.START_TIME
        is_newest_first = is_by_time and not sort.ascending
        body = SearchRequest(
            filter=Raw(self._after_the_last() if is_by_time else self._spec.filter),
            page=1 if is_by_time else self._number,
            limit=self.size,
            detail=self._detail,
            sort=sort,
            total=Total.AT_LEAST if is_newest_first else Total.EXACT,
            matches=self._matches,
        )
        return Request("/traces/search", self._shape, body)

    def take(self, page: Paginated[list[Item]]) -> list[Item]:
        """Returns the traces of a page, and moves on to the next page."""
        items = super().take(page)
        if items and isinstance(items[-1], TraceRow):
            self._last = items[-1]
        return items

    def _after_the_last(self) -> bytes:
        own, last = self._spec.filter, self._last
        if last is None:
            return own
        beyond = "GT" if self._spec.sort.ascending else "LT"
        later: dict[str, Any] = {"op": beyond, "key": "start_time", "value": last.start_time}
        same = {"op": "EQ", "key": "start_time", "value": last.start_time}
        next_id = {"op": "GT", "key": "trace_id", "value": last.trace_id}
        after = {"op": "OR", "conditions": [later, {"op": "AND", "conditions": [same, next_id]}]}
        if msgspec.json.decode(own) in (None, {}):
            return msgspec.json.encode(after)
        return msgspec.json.encode({"op": "AND", "conditions": [after, Raw(own)]})


class _SessionPages(Pages[TraceSessionStats]):
    """Pages of sessions."""

    def __init__(self, spec: SearchSpec) -> None:
        """Creates the pages of the sessions that contain the traces."""
        super().__init__(PAGE_SIZES[0])
        self._spec = spec

    def request(self) -> Request[SessionPage]:
        """Returns the request for the next page."""
        own = Raw(self._spec.filter)
        body = SearchRequest(filter=own, group_by=GroupBy.SESSION, page=self._number, limit=self.size)
        return Request("/traces/search", SessionPage, body)


class _SpanPages(Pages[SpanPreview]):
    """Pages of spans."""

    def __init__(self, spec: SearchSpec, where: FilterLike, *, matches: bool) -> None:
        """Creates the pages of spans matching `where`, within the matching traces."""
        super().__init__(PAGE_SIZES[0])
        self._spec = spec
        self._where = encoded(where)
        self._matches = matches

    def request(self) -> Request[SpanPage]:
        """Returns the request for the next page."""
        traces = Raw(self._spec.filter)
        body = SpanSearchRequest(
            filter=Raw(self._where), traces=traces, page=self._number, limit=self.size, matches=self._matches
        )
        return Request("/spans/search", SpanPage, body)
