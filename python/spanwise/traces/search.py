"""From a search request to its page: compile, search, count the pages, close the body.

Source: specification, "POST /traces/search"; runs in a thread of the search pool, never on the event loop.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from spanwise._engine import Filter
from spanwise.errors import ValidationError
from spanwise.models import GroupBy, Paginated, PaginationInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise._engine import Cancel, Page, TraceStore
    from spanwise.models import SearchRequest

FURTHEST_PAGE = 2**48
"""No store has a page beyond this one. A greater number means the same to the engine: nothing is there."""

_JSON_TYPES = {b"[": "array", b'"': "str", b"t": "bool", b"f": "bool"}
_encoder = msgspec.json.Encoder()


def compile_filter(source: Raw) -> Filter:
    """Returns the compiled filter of a request.

    Raises:
        ValidationError: it is neither an object nor null.
        FilterError: it is no valid expression.
    """
    text = bytes(source)
    if text != b"null" and not text.startswith(b"{"):
        found = _JSON_TYPES.get(text[:1], "number")
        raise ValidationError(f"Expected `object | null`, got `{found}` - at `$.filter`")
    return Filter.compile(text)


def search_page(
    store: TraceStore, compiled: Callable[[Raw], Filter], request: SearchRequest, cancel: Cancel, *, detail: bool
) -> bytes:
    """Returns the finished JSON body that answers `request`.

    Args:
        store: where to search.
        compiled: returns the compiled filter, with all that restricts it.
        request: which page, of what.
        cancel: withdraws the search.
        detail: whether runs come with output, error and span tree.

    Raises:
        ValidationError: the filter is neither an object nor null.
        FilterError: the filter is no valid expression.
        PayloadTooLargeError: the page is over its limit; the message names a limit that fits.
        CancelledError: `cancel` was used.
    """
    started = time.perf_counter()
    page = _page(store, compiled(request.filter), request, cancel, detail=detail)
    data = Raw(page.data)
    meta = PaginationInfo(
        page=request.page,
        limit=request.limit,
        total_pages=-(-page.total_count // request.limit),
        total_count=page.total_count,
        search_time_ms=round((time.perf_counter() - started) * 1000, 3),
    )
    return _encoder.encode(Paginated(data=data, meta=meta))


def _page(store: TraceStore, compiled: Filter, request: SearchRequest, cancel: Cancel, *, detail: bool) -> Page:
    page = min(request.page, FURTHEST_PAGE)
    match request.group_by:
        case GroupBy.RUN:
            return store.search_runs(compiled, page, request.limit, detail=detail, cancel=cancel)
        case GroupBy.SESSION:
            return store.search_sessions(compiled, page, request.limit, cancel=cancel)
