"""Turns the body of a span search into the body of its response.

Everything here blocks: it runs in a thread of the search pool, never on the event loop.

See docs/reference/api-search.md#span-search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise._engine import SpanFilter
from spanwise.api.shared import Total
from spanwise.errors import FilterError
from spanwise.traces.search import queries
from spanwise.traces.search.page import MAX_PAGE, compile_filter, encoded_page, expect_object_or_null, total_of

if TYPE_CHECKING:
    from spanwise._engine import CancellationToken, Filter
    from spanwise.api.spans import SpanSearchRequest
    from spanwise.store_protocol import Store


def compile_spans(request: SpanSearchRequest) -> tuple[Filter, SpanFilter]:
    """Returns the compiled trace filter, and the compiled condition on spans.

    Raises:
        ValidationError: the JSON of a filter is neither an object nor null.
        FilterError: a filter is invalid. The error path starts at `filter` for the condition on spans, and at the body
            for `traces`.
    """
    expect_object_or_null(request.filter, "$.filter")
    expect_object_or_null(request.traces, "$.traces")
    spans = SpanFilter.compile(bytes(request.filter))
    try:
        return compile_filter(request.traces), spans
    except FilterError as error:
        raise FilterError(error.message, "$.traces" + error.path.removeprefix("$")) from error


def spans_body(
    store: Store,
    compiled: tuple[Filter, SpanFilter],
    request: SpanSearchRequest,
    cancel: CancellationToken,
    started: float,
) -> bytes:
    """Returns the JSON body of one page of spans: `{"data": [...], "meta": {...}}`.

    Args:
        store: the store to search.
        compiled: the trace filter, already restricted to the caller's traces, and the condition on spans.
        request: the requested page.
        cancel: cancels the search from another thread.
        started: the start of the search, by `time.perf_counter`; the body reports the time since then.

    Raises:
        PayloadTooLargeError: too many document checks are needed.
        CancelledError: `cancel` was used.
    """
    query = queries.spans(
        *compiled,
        min(request.page, MAX_PAGE),
        request.limit,
        ends_when_full=request.total is Total.AT_LEAST,
        with_matches=request.matches,
    )
    page = store.query(query, cancel)
    return encoded_page(page, (request.page, request.limit), total_of(page), started)
