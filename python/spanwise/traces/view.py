"""One caller's view of a trace store. Every read goes through a filter that the engine restricts to the owner."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Raw

from spanwise.errors import NotFoundError, RecordDamagedError, StoreDamagedError
from spanwise.models import GroupBy
from spanwise.traces.list_filter import session_list_filter, trace_list_filter
from spanwise.traces.search import PageRequest, compile_filter, search_page

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from spanwise._engine import CancellationToken, Filter
    from spanwise.models import SearchRequest, SessionsQuery, TracesQuery
    from spanwise.traces.download import Downloads
    from spanwise.traces.lazy_store import LazyStore
    from spanwise.traces.pools import Pool
    from spanwise.traces.search_pool import SearchPool

_EVERYTHING = Raw(b"null")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class View:
    """One store, restricted to the traces of one owner.

    Attributes:
        owner: the user whose traces are visible; None for everyone's.
    """

    _store: LazyStore
    _searches: SearchPool
    _writes: Pool
    _downloads: Downloads
    owner: str | None

    async def search(self, request: SearchRequest) -> bytes:
        """Returns the JSON body of one page of search results. Cancelling the caller cancels the search.

        Raises:
            ValidationError: the filter is neither an object nor null, or sessions are to be sorted.
            FilterError: the filter is invalid.
            PayloadTooLargeError: the page exceeds its size limit; the message names a limit that fits.
            UnavailableError: too many searches at once, the deadline passed, or the store is not open yet.
        """
        store = self._store.opened()
        page = PageRequest.of(request)

        def search(cancel: CancellationToken) -> bytes:
            started = time.perf_counter()
            return search_page(store, self._compile(request.filter), page, cancel, started)

        return await self._searches.run(search)

    async def list_traces(self, query: TracesQuery) -> bytes:
        """Returns the JSON body of one page of traces, without their output, error and span tree.

        Raises:
            ValidationError: a value does not fit its field; the message names the query parameter.
            PayloadTooLargeError: see `search`.
            UnavailableError: see `search`.
        """
        return await self._list(
            trace_list_filter(query), PageRequest(GroupBy.RUN, query.page, query.limit, detail="summary")
        )

    async def list_sessions(self, query: SessionsQuery) -> bytes:
        """Returns the JSON body of one page of sessions.

        Raises:
            ValidationError: a value does not fit its field; the message names the query parameter.
            PayloadTooLargeError: see `search`.
            UnavailableError: see `search`.
        """
        return await self._list(session_list_filter(query), PageRequest(GroupBy.SESSION, query.page, query.limit))

    async def _list(self, compiled: Filter, page: PageRequest) -> bytes:
        store = self._store.opened()
        return await self._searches.run(
            lambda cancel: search_page(store, self._restricted(compiled), page, cancel, time.perf_counter())
        )

    async def trace(self, trace_id: str) -> bytes:
        """Returns the JSON of one trace with its span tree, or marked as damaged.

        Raises:
            NotFoundError: there is no such trace, or the caller may not see it.
            UnavailableError: see `search`.
        """
        store, compiled = self._store.opened(), self._compile()

        def read(_cancel: CancellationToken) -> bytes | None:
            try:
                return store.trace(trace_id, compiled)
            except StoreDamagedError as error:
                _log.error("a request for a trace found damage: %s", error)
                return store.damaged_trace(trace_id, compiled)

        found = await self._searches.run(read)
        if found is None:
            raise NotFoundError("Trace not found")
        return found

    async def span(self, trace_id: str, span_id: str) -> bytes:
        """Returns the JSON of one span, without its children.

        Raises:
            NotFoundError: the trace has no such span, or the caller may not see it.
            RecordDamagedError: the spans of the trace are damaged, so whether it has this one is not known.
            UnavailableError: see `search`.
        """
        store = self._store.opened()
        try:
            found = await self._searches.run(lambda _: store.span(trace_id, span_id, self._compile()))
        except StoreDamagedError as error:
            _log.error("a request for a span found damage: %s", error)
            raise RecordDamagedError(f"the stored spans of trace `{trace_id}` are damaged") from error
        if found is None:
            raise NotFoundError("Span not found")
        return found

    async def export(self, source: Raw, form: str) -> AsyncGenerator[bytes, None]:
        """Returns the chunks of a file with every matching trace, read from one snapshot of the store.

        Args:
            source: the filter expression, as JSON.
            form: one of `spanwise.traces.download.FORMATS`.

        Raises:
            ValidationError: the filter is neither an object nor null.
            FilterError: the filter is invalid.
            UnavailableError: too many downloads at once, or the store is not open yet.
        """
        store = self._store.opened()
        return await self._downloads.run(lambda: store.export(self._compile(source), form))

    async def delete(self, source: Raw, *, dry_run: bool) -> int:
        """Returns the number of deleted traces. The deletion completes even if the caller stops waiting.

        Args:
            source: the filter expression of the traces to delete, as JSON.
            dry_run: whether to count the traces without deleting them.

        Raises:
            ValidationError: the filter is neither an object nor null.
            FilterError: the filter is invalid.
            UnavailableError: nothing was deleted; the same request may succeed later.
        """
        self._store.opened()
        return await self._writes.run(lambda: self._store.delete(self._compile(source), dry_run=dry_run))

    def _compile(self, source: Raw = _EVERYTHING) -> Filter:
        return self._restricted(compile_filter(source))

    def _restricted(self, compiled: Filter) -> Filter:
        return compiled if self.owner is None else compiled.restrict("user_id", self.owner)
