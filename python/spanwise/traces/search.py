"""The path from a filter to the JSON body of one page of search results.

Everything here blocks: it runs in a thread of the search pool, never on the event loop.

See docs/reference/api.md#trace-search.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Raw, UnsetType

from spanwise._engine import Filter
from spanwise.errors import ValidationError
from spanwise.models import Detail, GroupBy, Paginated, PaginationInfo

if TYPE_CHECKING:
    from spanwise._engine import CancellationToken, TraceStore
    from spanwise.models import SearchRequest

MAX_PAGE = 2**48
"""No store has a page beyond this one, so greater page numbers are clamped to it: both find nothing."""

_LEVELS = {Detail.FULL: "full", Detail.SUMMARY: "preview"}
_JSON_TYPES = {b"[": "array", b'"': "str", b"t": "bool", b"f": "bool"}
_encoder = msgspec.json.Encoder()
_log = logging.getLogger(__name__)


class PageRequest(NamedTuple):
    """Which page of a search result is wanted.

    Attributes:
        group_by: what one item of the page is.
        page: the page number, counting from 1.
        limit: items per page.
        detail: how much of each run is shown: `full`, `summary` or `preview`; ignored for sessions.
        sort: the key of a field, and whether its least value comes first; ignored for sessions.
    """

    group_by: GroupBy
    page: int
    limit: int
    detail: str = "full"
    sort: tuple[str, bool] = ("start_time", False)

    @classmethod
    def of(cls, request: SearchRequest) -> PageRequest:
        """Returns what the body of a search asks for.

        Raises:
            ValidationError: sessions are to be sorted.
        """
        page = cls(request.group_by, request.page, request.limit, _LEVELS[request.detail])
        if isinstance(request.sort, UnsetType):
            return page
        if request.group_by is GroupBy.SESSION:
            raise ValidationError("Sessions have one order, expected no `sort` - at `$.sort`")
        return page._replace(sort=(request.sort.key, request.sort.ascending))


def compile_filter(source: Raw) -> Filter:
    """Returns the compiled form of a request's filter.

    Args:
        source: the filter expression as JSON; `null` matches every trace.

    Raises:
        ValidationError: the JSON is neither an object nor null.
        FilterError: the expression is invalid.
    """
    text = bytes(source)
    if text != b"null" and not text.startswith(b"{"):
        found = _JSON_TYPES.get(text[:1], "number")
        raise ValidationError(f"Expected `object | null`, got `{found}` - at `$.filter`")
    return Filter.compile(text)


def search_page(
    store: TraceStore, compiled: Filter, request: PageRequest, cancel: CancellationToken, started: float
) -> bytes:
    """Returns the JSON body of one page: `{"data": [...], "meta": {...}}`.

    Args:
        store: the store to search.
        compiled: the filter, already restricted to what the caller may see.
        request: the wanted page.
        cancel: cancels the search from another thread.
        started: when the search began, by `time.perf_counter`; the body reports the time since then.

    Raises:
        PayloadTooLargeError: the page exceeds its size limit; the message names a limit that fits.
        CancelledError: `cancel` was used.
    """
    number = min(request.page, MAX_PAGE)
    match request.group_by:
        case GroupBy.RUN:
            page = store.search_runs(
                compiled, number, request.limit, detail=request.detail, sort=request.sort, cancel=cancel
            )
        case GroupBy.SESSION:
            page = store.search_sessions(compiled, number, request.limit, cancel=cancel)
    for damage in page.damage:
        _log.error("a search found damage: %s", damage)
    data = Raw(page.data)
    meta = PaginationInfo(
        page=request.page,
        limit=request.limit,
        total_pages=-(-page.total_count // request.limit),
        total_count=page.total_count,
        search_time_ms=round((time.perf_counter() - started) * 1000, 3),
    )
    return _encoder.encode(Paginated(data=data, meta=meta))
