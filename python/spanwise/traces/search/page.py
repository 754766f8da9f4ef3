"""Turns a filter into the JSON body of one page of search results.

Everything here blocks: it runs in a thread of the search pool, never on the event loop.

See docs/reference/api-search.md#trace-search.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw, UnsetType

from spanwise._engine import Filter
from spanwise.api.shared import Paginated, PaginationInfo, Total
from spanwise.api.traces import GroupBy
from spanwise.errors import FilterError, ValidationError
from spanwise.strict_json import quote_hint
from spanwise.traces.search import queries

if TYPE_CHECKING:
    from spanwise._engine import CancellationToken, Query, Response
    from spanwise.api.traces import PageRequest
    from spanwise.store_protocol import Store

MAX_PAGE = 2**48
"""No store has a page beyond this one. Greater page numbers are clamped to it, because both find no trace."""

_JSON_TYPES = {b"[": "array", b'"': "str", b"t": "bool", b"f": "bool"}
_encoder = msgspec.json.Encoder()
_log = logging.getLogger(__name__)


def compile_filter(source: Raw) -> Filter:
    """Returns the compiled form of a request's filter.

    Args:
        source: the filter expression as JSON; `null` matches every trace.

    Raises:
        ValidationError: the JSON is neither an object nor null.
        FilterError: the expression is invalid.
    """
    expect_object_or_null(source, "$.filter")
    try:
        return Filter.compile(bytes(source))
    except FilterError as error:
        # Only a query parameter can be invalid JSON, because bodies are parsed earlier.
        if hint := quote_hint(bytes(source).decode()):
            raise FilterError(f"{error.message}: {hint}", error.path) from error
        raise


def expect_object_or_null(source: Raw, path: str) -> None:
    """Checks that the JSON of a filter is an object or null.

    Raises:
        ValidationError: it is neither; the message ends with `path`.
    """
    text = bytes(source)
    if text != b"null" and not text.startswith(b"{"):
        found = _JSON_TYPES.get(text[:1], "number")
        raise ValidationError(f"Expected `object | null`, got `{found}` - at `{path}`")


def search_page(
    store: Store, compiled: Filter, request: PageRequest, cancel: CancellationToken, started: float
) -> bytes:
    """Returns the JSON body of one page: `{"data": [...], "meta": {...}}`.

    Args:
        store: the store to search.
        compiled: the filter, already restricted to the caller's traces.
        request: the requested page.
        cancel: cancels the search from another thread.
        started: the start of the search, by `time.perf_counter`; the body reports the time since then.

    Raises:
        PayloadTooLargeError: the page exceeds its size limit; the message names a limit that fits.
        CancelledError: `cancel` was used.
    """
    page = store.query(_query(compiled, request), cancel)
    total_is = UNSET if request.total is Total.EXACT else total_of(page)
    return encoded_page(page, (request.page, request.limit), total_is, started)


def _query(compiled: Filter, request: PageRequest) -> Query:
    number = min(request.page, MAX_PAGE)
    match request.group_by:
        case GroupBy.RUN:
            return queries.runs(
                compiled,
                number,
                request.limit,
                detail=request.detail,
                sort=request.sort,
                ends_when_full=request.total is Total.AT_LEAST,
                with_matches=request.matches,
            )
        case GroupBy.SESSION:
            return queries.sessions(compiled, number, request.limit)


def total_of(page: Response) -> Total:
    """Returns the accuracy of a page's total."""
    return Total.EXACT if page.is_exact else Total.AT_LEAST


def encoded_page(page: Response, position: tuple[int, int], total_is: Total | UnsetType, started: float) -> bytes:
    """Returns the JSON body of one page, and logs any damage that the search found.

    Args:
        page: the items, and their total.
        position: the number of the page, from 1, and its limit.
        total_is: the accuracy of the total.
        started: the start of the search, by `time.perf_counter`.
    """
    for damage in page.damage:
        _log.error("a search read damaged data: %s", damage)
    number, limit = position
    meta = PaginationInfo(
        page=number,
        limit=limit,
        total_pages=-(-page.total // limit),
        total_count=page.total,
        search_time_ms=round((time.perf_counter() - started) * 1000, 3),
        total_is=total_is,
    )
    return _encoder.encode(Paginated(data=Raw(page.data), meta=meta))
