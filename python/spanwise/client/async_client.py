"""The asyncio client: `connect_async`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self, TypeVar, overload

from spanwise.api.traces import Detail
from spanwise.client import arrow
from spanwise.client.responses import decoded, unreachable
from spanwise.client.search_spec import SearchSpec, trace_request
from spanwise.client.transport import DEFAULT_TIMEOUT, Request, Target, httpx_module
from spanwise.errors import PayloadTooLargeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    import httpx
    import pyarrow as pa

    from spanwise.api.aggregates import AggregateData, By, Measure, TimeRange
    from spanwise.api.spans import SpanPreview
    from spanwise.api.traces import TraceDetail, TracePreview, TraceSessionStats
    from spanwise.client.expressions import FilterLike
    from spanwise.client.search_spec import Pages, SortName

Item = TypeVar("Item")
Shape = TypeVar("Shape")


def connect_async(
    url: str, token: str | None = None, *, db_id: str | None = None, timeout: float = DEFAULT_TIMEOUT
) -> AsyncClient:
    """Returns a client of the service at `url`. Sends no request yet.

    Args:
        url: its address, such as `http://127.0.0.1:7777`; behind a proxy, with the path prefix.
        token: the bearer token to send.
        db_id: the trace store; by default the first one.
        timeout: seconds that a request may wait for its response.

    Raises:
        ConfigurationError: the address is not HTTP, or httpx is not installed.
    """
    return AsyncClient(Target(url, token, db_id, timeout))


class AsyncClient:
    """A connection to a service, for use on one event loop. Close it, or use it as a context manager.

    Every method raises the error of the service as an exception of `spanwise` with `status` and `error_code`. Without a
    response it raises `UnreachableError`.
    """

    def __init__(self, target: Target) -> None:
        """Creates the client. Programs call `connect_async`.

        Raises:
            ConfigurationError: the address is not HTTP, or httpx is not installed.
        """
        module = httpx_module()
        self._failures: tuple[type[Exception], ...] = (module.TransportError, module.InvalidURL)
        self._http: httpx.AsyncClient = module.AsyncClient(**target.options())

    async def __aenter__(self) -> Self:
        """Returns the client itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes the client."""
        await self.close()

    async def close(self) -> None:
        """Closes its connections."""
        await self._http.aclose()

    def search(
        self,
        filter: FilterLike = None,  # noqa: A002  # its name everywhere
        *,
        sort: SortName = "start_time",
        ascending: bool = False,
    ) -> AsyncSearch:
        """Returns a search for the matching traces, by default newest first. Sends no request yet.

        Args:
            filter: an expression of `F`, a dict, or JSON; by default every trace matches.
            sort: the field to sort by, in descending order.
            ascending: sort in ascending order instead.

        Raises:
            ValueError: traces cannot be sorted by `sort`.
        """
        return AsyncSearch(self, SearchSpec.of(filter, sort, ascending=ascending))

    async def trace(self, trace_id: str) -> TraceDetail:
        """Returns one trace with its span tree.

        Raises:
            NotFoundError: no trace visible to this caller has this id.
        """
        return await self.send(trace_request(trace_id))

    async def send(self, request: Request[Shape]) -> Shape:
        """Returns the response to a request, decoded into its shape."""
        try:
            response = await self._http.request(**request.arguments())
        except self._failures as error:
            raise unreachable(str(self._http.base_url), error) from error
        return decoded(response, request.shape)


class AsyncSearch:
    """The traces that match a filter. Each method sends its own requests."""

    def __init__(self, client: AsyncClient, spec: SearchSpec) -> None:
        """Creates the search. Programs call `AsyncClient.search`."""
        self._client = client
        self._spec = spec

    async def count(self) -> int:
        """Returns the number of traces."""
        page = await self._client.send(self._spec.count())
        return page.meta.total_count

    @overload
    def traces(self, detail: Literal["full"] = "full", *, matches: bool = False) -> AsyncIterator[TraceDetail]: ...
    @overload
    def traces(self, detail: Literal["summary"], *, matches: bool = False) -> AsyncIterator[TracePreview]: ...
    def traces(
        self, detail: str = "full", *, matches: bool = False
    ) -> AsyncIterator[TraceDetail] | AsyncIterator[TracePreview]:
        """Iterates over the traces. Pages are fetched on demand.

        Args:
            detail: `full` for span trees, `summary` for the first characters of each text.
            matches: whether each trace contains its matches of the filter.
        """
        if Detail(detail) is Detail.FULL:
            return self._items(self._spec.details(matches=matches))
        return self._items(self._spec.previews(matches=matches))

    def sessions(self) -> AsyncIterator[TraceSessionStats]:
        """Iterates over the sessions of the traces. The session with the newest trace comes first."""
        return self._items(self._spec.sessions())

    def spans(self, where: FilterLike = None, *, matches: bool = False) -> AsyncIterator[SpanPreview]:
        """Iterates over the spans matching `where`, starting with the newest trace.

        Args:
            where: an expression of `S`, a dict, or JSON; by default every span matches.
            matches: whether each span contains its matches of `where`.
        """
        return self._items(self._spec.spans(where, matches=matches))

    async def aggregate(
        self, measures: Mapping[str, Measure], *, by: Iterable[str | By] = (), time: TimeRange | None = None
    ) -> AggregateData:
        """Returns statistics of the traces.

        Args:
            measures: by name, such as `{"runs": F.count(), "p95": F.duration_ms.quantile(0.95)}`.
            by: up to two fields to group by.
            time: a time range in buckets; see `time_range`.
        """
        response = await self._client.send(self._spec.aggregation(measures, by, time))
        return response.data

    async def to_arrow(self) -> pa.Table:
        """Returns the traces as a PyArrow table, with one row per trace and filter fields as columns."""
        found = self._pages(self._spec.previews())
        return arrow.table_of([arrow.batch_of(page) async for page in found if page])

    async def _items(self, pages: Pages[Item]) -> AsyncIterator[Item]:
        async for page in self._pages(pages):
            for item in page:
                yield item

    async def _pages(self, pages: Pages[Item]) -> AsyncIterator[list[Item]]:
        while not pages.is_done:
            try:
                page = await self._client.send(pages.request())
            except PayloadTooLargeError:
                if not pages.shrink():
                    raise
            else:
                yield pages.take(page)
