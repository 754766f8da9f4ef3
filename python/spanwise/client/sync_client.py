"""The synchronous client: `connect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self, TypeVar, overload

from spanwise.api.traces import Detail
from spanwise.client import arrow
from spanwise.client.responses import decoded, unreachable
from spanwise.client.search_spec import SearchSpec, trace_request
from spanwise.client.transport import DEFAULT_TIMEOUT, Request, Target, httpx_module
from spanwise.errors import PayloadTooLargeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import httpx
    import pyarrow as pa

    from spanwise.api.aggregates import AggregateData, By, Measure, TimeRange
    from spanwise.api.spans import SpanPreview
    from spanwise.api.traces import TraceDetail, TracePreview, TraceSessionStats
    from spanwise.client.expressions import FilterLike
    from spanwise.client.search_spec import Pages, SortName

Item = TypeVar("Item")
Shape = TypeVar("Shape")


def connect(
    url: str, token: str | None = None, *, db_id: str | None = None, timeout: float = DEFAULT_TIMEOUT
) -> Client:
    """Returns a client of the service at `url`. Sends no request yet.

    Args:
        url: its address, such as `http://127.0.0.1:7777`; behind a proxy, with the path prefix.
        token: the bearer token to send.
        db_id: the trace store; by default the first one.
        timeout: seconds that a request may wait for its response.

    Raises:
        ConfigurationError: the address is not HTTP, or httpx is not installed.
    """
    return Client(Target(url, token, db_id, timeout))


class Client:
    """A connection to a service, safe to share between threads. Close it, or use it as a context manager.

    Every method raises the error of the service as an exception of `spanwise` with `status` and `error_code`. Without a
    response it raises `UnreachableError`.
    """

    def __init__(self, target: Target) -> None:
        """Creates the client. Programs call `connect`.

        Raises:
            ConfigurationError: the address is not HTTP, or httpx is not installed.
        """
        module = httpx_module()
        self._failures: tuple[type[Exception], ...] = (module.TransportError, module.InvalidURL)
        self._http: httpx.Client = module.Client(**target.options())

    def __enter__(self) -> Self:
        """Returns the client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the client."""
        self.close()

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def search(
        self,
        filter: FilterLike = None,  # noqa: A002  # its name everywhere
        *,
        sort: SortName = "start_time",
        ascending: bool = False,
    ) -> Search:
        """Returns a search for the matching traces, by default newest first. Sends no request yet.

        Args:
            filter: an expression of `F`, a dict, or JSON; by default every trace matches.
            sort: the field to sort by, in descending order.
            ascending: sort in ascending order instead.

        Raises:
            ValueError: traces cannot be sorted by `sort`.
        """
        return Search(self, SearchSpec.of(filter, sort, ascending=ascending))

    def trace(self, trace_id: str) -> TraceDetail:
        """Returns one trace with its span tree.

        Raises:
            NotFoundError: no trace visible to this caller has this id.
        """
        return self.send(trace_request(trace_id))

    def send(self, request: Request[Shape]) -> Shape:
        """Returns the response to a request, decoded into its shape."""
        try:
            response = self._http.request(**request.arguments())
        except self._failures as error:
            raise unreachable(str(self._http.base_url), error) from error
        return decoded(response, request.shape)


class Search:
    """The traces that match a filter. Each method sends its own requests."""

    def __init__(self, client: Client, spec: SearchSpec) -> None:
        """Creates the search. Programs call `Client.search`."""
        self._client = client
        self._spec = spec

    def count(self) -> int:
        """Returns the number of traces."""
        return self._client.send(self._spec.count()).meta.total_count

    @overload
    def traces(self, detail: Literal["full"] = "full", *, matches: bool = False) -> Iterator[TraceDetail]: ...
    @overload
    def traces(self, detail: Literal["summary"], *, matches: bool = False) -> Iterator[TracePreview]: ...
    def traces(self, detail: str = "full", *, matches: bool = False) -> Iterator[TraceDetail] | Iterator[TracePreview]:
        """Iterates over the traces. Pages are fetched on demand.

        Args:
            detail: `full` for span trees, `summary` for the first characters of each text.
            matches: whether each trace contains its matches of the filter.
        """
        if Detail(detail) is Detail.FULL:
            return self._items(self._spec.details(matches=matches))
        return self._items(self._spec.previews(matches=matches))

    def sessions(self) -> Iterator[TraceSessionStats]:
        """Iterates over the sessions of the traces. The session with the newest trace comes first."""
        return self._items(self._spec.sessions())

    def spans(self, where: FilterLike = None, *, matches: bool = False) -> Iterator[SpanPreview]:
        """Iterates over the spans matching `where`, starting with the newest trace.

        Args:
            where: an expression of `S`, a dict, or JSON; by default every span matches.
            matches: whether each span contains its matches of `where`.
        """
        return self._items(self._spec.spans(where, matches=matches))

    def aggregate(
        self, measures: Mapping[str, Measure], *, by: Iterable[str | By] = (), time: TimeRange | None = None
    ) -> AggregateData:
        """Returns statistics of the traces.

        Args:
            measures: by name, such as `{"runs": F.count(), "p95": F.duration_ms.quantile(0.95)}`.
            by: up to two fields to group by.
            time: a time range in buckets; see `time_range`.
        """
        return self._client.send(self._spec.aggregation(measures, by, time)).data

    def to_arrow(self) -> pa.Table:
        """Returns the traces as a PyArrow table, with one row per trace and filter fields as columns."""
        found = self._pages(self._spec.previews())
        return arrow.table_of(arrow.batch_of(page) for page in found if page)

    def _items(self, pages: Pages[Item]) -> Iterator[Item]:
        for page in self._pages(pages):
            yield from page

    def _pages(self, pages: Pages[Item]) -> Iterator[list[Item]]:
        while not pages.is_done:
            try:
                page = self._client.send(pages.request())
            except PayloadTooLargeError:
                if not pages.shrink():
                    raise
            else:
                yield pages.take(page)
