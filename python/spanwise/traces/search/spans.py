"""The shapes of a search whose rows are spans, and the path from its body to that of its response.

Everything here blocks: it runs in a thread of the search pool, never on the event loop.

See docs/reference/api.md#span-search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Raw, Struct, field

from spanwise._engine import SpanFilter
from spanwise.errors import FilterError
from spanwise.models import Paginated, Status, Time, Total
from spanwise.traces.search.page import MAX_PAGE, compile_filter, encoded_page, expect_object_or_null, total_of

if TYPE_CHECKING:
    from spanwise._engine import CancellationToken, Filter, TraceStore

_FILTER = {"anyOf": [{"type": "object"}, {"type": "null"}]}


class SpanSearchRequest(Struct, frozen=True):
    """The body of a search for spans. Unknown members are ignored."""

    filter: Annotated[
        Raw,
        Meta(
            description="A condition on one span, as in the `where` of `SPAN`; null or `{}` matches every span.",
            extra_json_schema=_FILTER,
        ),
    ] = field(default_factory=lambda: Raw(b"null"))
    traces: Annotated[
        Raw,
        Meta(
            description="A filter expression: of which traces; null or `{}` matches everything.",
            extra_json_schema=_FILTER,
        ),
    ] = field(default_factory=lambda: Raw(b"null"))
    page: Annotated[int, Meta(ge=1, description="Page number, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20
    total: Annotated[
        Total, Meta(description="Whether the search ends once its page is full, or all spans are counted.")
    ] = Total.AT_LEAST


class SpanPreview(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A span with the beginnings of its texts, each of at most 200 characters. Missing values are omitted."""

    trace_id: Annotated[str, Meta(description="The trace that it is in.")]
    span_id: Annotated[str, Meta(description="Span identifier.")]
    name: Annotated[str, Meta(description="Span name.")]
    type: Annotated[str, Meta(description="The kind of span: `AGENT`, `TEAM`, `WORKFLOW`, `LLM`, `TOOL` and others.")]
    status: Status
    start_time: Annotated[Time, Meta(description="When the span started.")]
    duration_ms: Annotated[int | None, Meta(description="Whole milliseconds; none of a span without an end.")] = None
    model: Annotated[str | None, Meta(description="The model of a model call.")] = None
    tool_name: Annotated[str | None, Meta(description="The tool of a call of a tool.")] = None
    service: Annotated[str | None, Meta(description="The service that ran it.")] = None
    input_tokens: Annotated[int | None, Meta(description="Input tokens of a model call.")] = None
    output_tokens: Annotated[int | None, Meta(description="Output tokens of a model call.")] = None
    cached_tokens: Annotated[int | None, Meta(description="How many of `input_tokens` a cache answered.")] = None
    reasoning_tokens: Annotated[int | None, Meta(description="How many of `output_tokens` were of reasoning.")] = None
    cost: Annotated[float | None, Meta(description="What it reports to have cost, in US dollars.")] = None
    input_preview: Annotated[str | None, Meta(description="The beginning of the input.")] = None
    output_preview: Annotated[str | None, Meta(description="The beginning of the output.")] = None
    error_preview: Annotated[str | None, Meta(description="The beginning of the error message, if it failed.")] = None


class SpanPage(Paginated[list[SpanPreview]], frozen=True):
    """A page of spans."""


def compile_spans(request: SpanSearchRequest) -> tuple[Filter, SpanFilter]:
    """Returns the compiled filter of traces, and the compiled condition on spans.

    Raises:
        ValidationError: the JSON of one of them is neither an object nor null.
        FilterError: one of them is invalid. The path of an error in `filter` begins there, that of one in `traces` at
            the body.
    """
    expect_object_or_null(request.filter, "$.filter")
    expect_object_or_null(request.traces, "$.traces")
    spans = SpanFilter.compile(bytes(request.filter))
    try:
        return compile_filter(request.traces), spans
    except FilterError as error:
        raise FilterError(error.message, "$.traces" + error.path.removeprefix("$")) from error


def spans_body(
    store: TraceStore,
    compiled: tuple[Filter, SpanFilter],
    request: SpanSearchRequest,
    cancel: CancellationToken,
    started: float,
) -> bytes:
    """Returns the JSON body of one page of spans: `{"data": [...], "meta": {...}}`.

    Args:
        store: the store to search.
        compiled: the filter of traces, already restricted to what the caller may see, and the condition on spans.
        request: the wanted page.
        cancel: cancels the search from another thread.
        started: when the search began, by `time.perf_counter`; the body reports the time since then.

    Raises:
        PayloadTooLargeError: too many documents would have to be looked at.
        CancelledError: `cancel` was used.
    """
    is_exact = request.total is Total.EXACT
    number = min(request.page, MAX_PAGE)
    page = store.search_spans(*compiled, number, request.limit, ends_when_full=not is_exact, cancel=cancel)
    return encoded_page(page, (request.page, request.limit), total_of(page), started)
