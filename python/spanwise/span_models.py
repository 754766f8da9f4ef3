"""The schemas of span searches.

Source: `docs/reference/api-search.md#span-search`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from spanwise.filter_models import Matches
from spanwise.models import Paginated, Status, Time, Total

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
            description="A filter expression that selects the traces; null or `{}` matches all traces.",
            extra_json_schema=_FILTER,
        ),
    ] = field(default_factory=lambda: Raw(b"null"))
    page: Annotated[int, Meta(ge=1, description="Page number, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20
    total: Annotated[
        Total, Meta(description="`exact` counts all spans. `at_least` ends the search once its page is full.")
    ] = Total.AT_LEAST
    matches: Annotated[
        bool,
        Meta(description="Include the texts and related spans that made the condition true."),
    ] = False


class SpanPreview(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A span with up to 200 characters of each text. Missing values are omitted."""

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
    cost: Annotated[float | None, Meta(description="The cost that it reports, in US dollars.")] = None
    input_preview: Annotated[str | None, Meta(description="The beginning of the input.")] = None
    output_preview: Annotated[str | None, Meta(description="The beginning of the output.")] = None
    error_preview: Annotated[str | None, Meta(description="The beginning of the error message, if it failed.")] = None
    matches: Annotated[
        Matches | UnsetType,
        Meta(description="The matches of the condition; only in a search with `matches`."),
    ] = UNSET


class SpanPage(Paginated[list[SpanPreview]], frozen=True):
    """A page of spans."""
