"""One caller's view of a trace store. Every read goes through a filter that the engine restricts to the owner."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from msgspec import Raw

from spanwise._engine import Aggregation, Filter
from spanwise.api.traces import GroupBy, PageRequest
from spanwise.errors import NotFoundError, RecordDamagedError, StoreDamagedError
from spanwise.traces.search import queries
from spanwise.traces.search.aggregate import aggregate_body, compile_aggregation
from spanwise.traces.search.attributes import attributes_body
from spanwise.traces.search.facets import check_fields, facets_body
from spanwise.traces.search.list_filter import session_list_filter, trace_list_filter
from spanwise.traces.search.page import compile_filter, search_page
from spanwise.traces.search.spans import compile_spans, spans_body

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from spanwise._engine import CancellationToken, Query, Response
    from spanwise.api.aggregates import AggregateRequest
    from spanwise.api.facets import FacetsRequest
    from spanwise.api.spans import SpanSearchRequest, ValueRange
    from spanwise.api.traces import SearchRequest, SessionsQuery, TracesQuery
    from spanwise.fair_budget import FairBudget
    from spanwise.pools.pool import Pool
    from spanwise.traces.download import Downloads
    from spanwise.traces.lazy_store import LazyStore
    from spanwise.traces.search.pool import SearchPool
    from spanwise.traces.tail import TailConnection, Tails

Compiled = TypeVar("Compiled", Filter, Aggregation)
_EVERYTHING = Raw(b"null")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class View:
    """One store, restricted to the traces of one owner.

    Attributes:
        owner: the user whose traces are visible; None for everyone's.
        caller: the tenant of these requests. The engine charges cached results to it.
    """

    _store: LazyStore
    _searches: SearchPool
    _counting: FairBudget
    _deletions: Pool
    _downloads: Downloads
    _tails: Tails
    owner: str | None
    caller: str

    def as_of(self) -> float | None:
        """Returns the time through which results are complete, in seconds since 1970.

        None for a reader that has never read the store.
        """
        return self._store.as_of()

    async def search(self, request: SearchRequest) -> bytes:
        """Returns the JSON body of one page of search results. Cancelling the caller cancels the search.

        Raises:
            ValidationError: the filter is neither an object nor null, or `sort` is used with sessions.
            FilterError: the filter is invalid.
            PayloadTooLargeError: the page exceeds its size limit; the message names a limit that fits.
            UnavailableError: too many searches are running, the deadline passed, or the store is not open yet.
        """
        store = self._store.opened()
        page = PageRequest.of(request)

        def search(cancel: CancellationToken) -> bytes:
            started = time.perf_counter()
            return search_page(store, self._compile(request.filter), page, cancel, started)

        return await self._searches.run(search)

    async def aggregate(self, request: AggregateRequest) -> bytes:
        """Returns the JSON body of an aggregation. Cancelling the caller cancels it.

        Raises:
            ValidationError: a member is invalid; the message ends with its location.
            FilterError: a filter is invalid.
            PayloadTooLargeError: the aggregation needs more memory than the whole budget.
            UnavailableError: the memory is in use; or see `search`.
        """
        store = self._store.opened()
        memory = self._counting.hold()

        def aggregate(cancel: CancellationToken) -> bytes:
            started = time.perf_counter()
            return aggregate_body(store, self._restricted(compile_aggregation(request)), memory, cancel, started)

        return await self._searches.run(aggregate)

    async def facets(self, request: FacetsRequest) -> bytes:
        """Returns the JSON body of the counted values of some fields. Cancelling the caller cancels the count.

        Raises:
            ValidationError: the filter is neither an object nor null, or a field has no facet.
            FilterError: the filter is invalid.
            PayloadTooLargeError: counting needs more memory than the budget of all callers.
            UnavailableError: see `search`; or counting needs more memory than the caller has left.
        """
        store = self._store.opened()
        check_fields(request)
        lease = self._counting.hold()
        return await self._searches.run(
            lambda cancel: facets_body(store, self._compile(request.filter), request, cancel, lease)
        )

    async def attributes(self, source: Raw, prefix: str, limit: int) -> bytes:
        """Returns the JSON body of attribute keys. Cancelling the caller cancels the count.

        Args:
            source: the filter expression of the traces to count, as JSON.
            prefix: the prefix of the keys; may be empty.
            limit: the number of keys, 1 to 1,000.

        Raises:
            ValidationError: the filter is neither an object nor null.
            FilterError: the filter is invalid.
            PayloadTooLargeError: too many document checks are needed.
            UnavailableError: see `search`.
        """
        store = self._store.opened()

        def count(cancel: CancellationToken) -> bytes:
            started = time.perf_counter()
            return attributes_body(store, self._compile(source), (prefix, limit), cancel, started)

        return await self._searches.run(count)

    async def search_spans(self, request: SpanSearchRequest) -> bytes:
        """Returns the JSON body of one page of spans. Cancelling the caller cancels the search.

        Raises:
            ValidationError: a filter is neither an object nor null.
            FilterError: a filter is invalid.
            PayloadTooLargeError: too many document checks are needed.
            UnavailableError: see `search`.
        """
        store = self._store.opened()

        def search(cancel: CancellationToken) -> bytes:
            started = time.perf_counter()
            traces, spans = compile_spans(request)
            return spans_body(store, (self._restricted(traces), spans), request, cancel, started)

        return await self._searches.run(search)

    async def list_traces(self, query: TracesQuery) -> bytes:
        """Returns the JSON body of one page of traces, without output, error and span tree.

        Raises:
            ValidationError: a value is invalid for its field; the message names the query parameter.
            PayloadTooLargeError: see `search`.
            UnavailableError: see `search`.
        """
        return await self._list(
            trace_list_filter(query), PageRequest(GroupBy.RUN, query.page, query.limit, detail="summary")
        )

    async def list_sessions(self, query: SessionsQuery) -> bytes:
        """Returns the JSON body of one page of sessions.

        Raises:
            ValidationError: a value is invalid for its field; the message names the query parameter.
            PayloadTooLargeError: see `search`.
            UnavailableError: see `search`.
        """
        return await self._list(session_list_filter(query), PageRequest(GroupBy.SESSION, query.page, query.limit))

    async def _list(self, compiled: Filter, page: PageRequest) -> bytes:
        store = self._store.opened()
        return await self._searches.run(
            lambda cancel: search_page(store, self._restricted(compiled), page, cancel, time.perf_counter())
        )

    async def trace(self, trace_id: str, detail: str = "full") -> bytes:
        """Returns the JSON of one trace. A damaged trace is reduced to its intact parts and marked as damaged.

        Args:
            trace_id: its id in hexadecimal digits.
            detail: `full` with its span tree, `skeleton` with its spans in columns.

        Raises:
            NotFoundError: the trace does not exist, or the caller may not see it.
            UnavailableError: see `search`.
        """
        store, compiled = self._store.opened(), self._compile()

        def read(cancel: CancellationToken) -> Response:
            try:
                return store.query(queries.trace(compiled, trace_id, detail), cancel)
            except StoreDamagedError as error:
                _log.error("a request for a trace read damaged data: %s", error)
                return store.query(queries.trace(compiled, trace_id, detail, is_damaged=True), cancel)

        found = await self._searches.run(read)
        if not found.total:
            raise NotFoundError("Trace not found")
        return found.data

    async def span(self, trace_id: str, span_id: str, max_bytes: int | None = None) -> bytes:
        """Returns the JSON of one span, without its children. Values longer than `max_bytes` are truncated and listed.

        Raises:
            NotFoundError: the trace has no such span, or the caller may not see it.
            RecordDamagedError: the spans of the trace are damaged, so the span cannot be found or ruled out.
            UnavailableError: see `search`.
        """
        found = await self._read_span(trace_id, lambda every: queries.span(every, trace_id, span_id, max_bytes))
        if not found.total:
            raise NotFoundError("Span not found")
        return found.data

    async def value(self, trace_id: str, span_id: str, wanted: ValueRange) -> bytes:
        """Returns the JSON of a part of one value of a span.

        Raises:
            NotFoundError: the value does not exist, or the caller may not see it.
            RecordDamagedError: see `span`.
            UnavailableError: see `search`.
        """
        part = (wanted.path, wanted.start, wanted.max_bytes)
        found = await self._read_span(trace_id, lambda every: queries.value(every, trace_id, span_id, part))
        if not found.total:
            raise NotFoundError("Value not found")
        return found.data

    async def _read_span(self, trace_id: str, query: Callable[[Filter], Query]) -> Response:
        store = self._store.opened()
        try:
            return await self._searches.run(lambda cancel: store.query(query(self._compile()), cancel))
        except StoreDamagedError as error:
            _log.error("a request for a span read damaged data: %s", error)
            raise RecordDamagedError(f"the stored spans of trace `{trace_id}` are damaged") from error

    async def export(self, source: Raw, form: str) -> AsyncGenerator[bytes, None]:
        """Returns the chunks of a file with every matching trace, read from one snapshot of the store.

        Args:
            source: the filter expression, as JSON.
            form: one of `spanwise.traces.download.FORMATS`.

        Raises:
            ValidationError: the filter is neither an object nor null.
            FilterError: the filter is invalid.
            UnavailableError: too many downloads are running, or the store is not open yet.
        """
        store = self._store.opened()
        return await self._downloads.run(lambda: store.export(self._compile(source), form))

    async def tail(self, source: Raw, last_event_id: str | None) -> TailConnection:
        """Returns a connection that sends every matching trace as it is committed.

        Args:
            source: the filter expression, as JSON.
            last_event_id: where to resume; None to start now.

        Raises:
            ValidationError: the filter is neither an object nor null.
            FilterError: the filter is invalid.
            UnavailableError: too many tails are open, or the store is not open.
        """
        store = self._store.opened()
        return await self._tails.open(store, lambda: self._compile(source), last_event_id)

    async def delete(self, source: Raw, *, dry_run: bool) -> int:
        """Returns the number of deleted traces.

        They are counted first, which is a search. The deletion itself completes even if the caller stops waiting.

        Args:
            source: the filter expression of the traces to delete, as JSON.
            dry_run: True to count the traces without deleting them.

        Raises:
            ValidationError: the filter is neither an object nor null.
            FilterError: the filter is invalid.
            PayloadTooLargeError: too many document checks are needed.
            UnavailableError: no trace was deleted; the same request may succeed later. Or see `search`.
        """
        store = self._store.opened()

        def count(cancel: CancellationToken) -> int:
            return store.query(queries.ids(self._compile(source), 1, 1), cancel).total

        matching = await self._searches.run(count)
        if dry_run or not matching:
            return matching
        return await self._deletions.run(lambda: self._store.delete(self._compile(source)))

    def _compile(self, source: Raw = _EVERYTHING) -> Filter:
        return self._restricted(compile_filter(source))

    def _restricted(self, compiled: Compiled) -> Compiled:
        restricted = compiled if self.owner is None else compiled.restrict("user_id", self.owner)
        return restricted.for_tenant(self.caller)
