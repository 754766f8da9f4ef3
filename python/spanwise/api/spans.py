"""Spans: their trees, details, searches and values.

Source: `docs/reference/api-search.md#one-trace`, `docs/reference/api-search.md#span-search`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from spanwise.api.filters import FILTER_SCHEMA, Matches
from spanwise.api.shared import Cost, CostPartial, Duration, Object, Paginated, Status, Time, Total


class SpanEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An event within a span. Missing members are omitted."""

    name: Annotated[str, Meta(description="The name of the event.")]
    time: Annotated[Time, Meta(description="When it happened.")]
    attributes: Annotated[Object | UnsetType, Meta(description="Its attributes.")] = UNSET
    dropped_attributes_count: Annotated[int | UnsetType, Meta(description="As sent.")] = UNSET


class ExtraData(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Data of a span that is in no other member. Empty members are omitted."""

    name: Annotated[str | UnsetType, Meta(description="The name that was sent, if another one is shown.")] = UNSET
    attributes: Annotated[Object | UnsetType, Meta(description="Attributes that are not shown elsewhere.")] = UNSET
    events: Annotated[list[SpanEvent] | UnsetType, Meta(description="The events of the span.")] = UNSET
    links: Annotated[list[Object] | UnsetType, Meta(description="Spans that it is linked to.")] = UNSET
    dropped_attributes_count: Annotated[int | UnsetType, Meta(description="As sent.")] = UNSET
    dropped_events_count: Annotated[int | UnsetType, Meta(description="As sent.")] = UNSET
    dropped_links_count: Annotated[int | UnsetType, Meta(description="As sent.")] = UNSET
    status_code: Annotated[str | int | UnsetType, Meta(description="`OK` if it was declared, or an unknown code.")] = (
        UNSET
    )
    status_message: Annotated[
        str | UnsetType, Meta(description="Of a span that did not fail, or with a traceback.")
    ] = UNSET
    kind: Annotated[
        str | int | UnsetType, Meta(description="`INTERNAL`, `SERVER`, `CLIENT`, `PRODUCER`, `CONSUMER`, or a number.")
    ] = UNSET
    parent_span_id: Annotated[str | UnsetType, Meta(description="Of a root that has a parent.")] = UNSET
    trace_state: Annotated[str | UnsetType, Meta(description="As sent.")] = UNSET
    flags: Annotated[int | UnsetType, Meta(description="As sent.")] = UNSET
    resource: Annotated[Object | UnsetType, Meta(description="What sent it.")] = UNSET
    scope: Annotated[Object | UnsetType, Meta(description="The instrumentation that made it.")] = UNSET
    resource_of: Annotated[str | UnsetType, Meta(description="The span with the same resource.")] = UNSET
    scope_of: Annotated[str | UnsetType, Meta(description="The span with the same scope.")] = UNSET


class TraceNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A span with its child spans. Missing values are omitted."""

    id: Annotated[str, Meta(description="Span identifier.")]
    name: Annotated[str, Meta(description="Span name.")]
    type: Annotated[str, Meta(description="The kind of span: `AGENT`, `TEAM`, `WORKFLOW`, `LLM`, `TOOL` and others.")]
    duration: Duration
    start_time: Annotated[Time, Meta(description="When the span started.")]
    end_time: Annotated[Time, Meta(description="When the span ended.")]
    status: Status
    input: Annotated[str | None, Meta(description="The input of the span.")] = None
    output: Annotated[str | None, Meta(description="The output of the span.")] = None
    error: Annotated[str | None, Meta(description="The error message, if it failed.")] = None
    spans: Annotated[list[TraceNode] | None, Meta(description="The child spans, by start time.")] = None
    step_type: Annotated[str | None, Meta(description="The kind of workflow step.")] = None
    metadata: Annotated[Object | None, Meta(description="Well-known attributes.")] = None
    cost: Annotated[
        float | None, Meta(description="The share of the span in the cost of the trace, in US dollars.")
    ] = None
    cost_source: Annotated[
        Literal["reported", "computed", "covered", "unpriced"] | None,
        Meta(
            description="Where the cost comes from: the span reports it; it is computed from the price of the model; "
            "another call reports it; or its model has no price."
        ),
    ] = None
    extra_data: Annotated[
        ExtraData | None, Meta(description="All other attributes, events, links and the resource.")
    ] = None


class SpanSearchRequest(Struct, frozen=True):
    """The body of a search for spans. Unknown members are ignored."""

    filter: Annotated[
        Raw,
        Meta(
            description="A condition on one span, as in the `where` of `SPAN`; null or `{}` matches every span.",
            extra_json_schema=FILTER_SCHEMA,
        ),
    ] = field(default_factory=lambda: Raw(b"null"))
    traces: Annotated[
        Raw,
        Meta(
            description="A filter expression that selects the traces; null or `{}` matches all traces.",
            extra_json_schema=FILTER_SCHEMA,
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


class CodedColumn(Struct, frozen=True):
    """A column of texts that repeat."""

    values: Annotated[list[str], Meta(description="Each text once; its first 200 characters, followed by `…`.")]
    codes: Annotated[list[int], Meta(description="By span: the position of its text, -1 without one.")]


class SpanColumns(Struct, frozen=True):
    """The spans of a trace in columns of equal length, each before its children, in the order of the tree."""

    span_id: Annotated[list[str], Meta(description="Span identifiers.")]
    parent: Annotated[list[int], Meta(description="The position of the parent; -1 for a root.")]
    start_us: Annotated[list[int], Meta(description="Microseconds after the start of the trace.")]
    duration_us: Annotated[list[int | None], Meta(description="Microseconds; null for a span without an end.")]
    type: CodedColumn
    name: CodedColumn
    model: Annotated[CodedColumn, Meta(description="Of model calls.")]
    tool: Annotated[CodedColumn, Meta(description="The names of the tools that tool spans call.")]
    agent: Annotated[CodedColumn, Meta(description="The ids of agents, or their names.")]
    error: Annotated[CodedColumn, Meta(description="A span without one did not fail.")]
    input_tokens: Annotated[list[int], Meta(description="The share of the span in the tokens of the trace.")]
    output_tokens: Annotated[list[int], Meta(description="The share of the span in the tokens of the trace.")]
    cached_tokens: Annotated[list[int], Meta(description="How many of `input_tokens` a cache answered.")]
    reasoning_tokens: Annotated[list[int], Meta(description="Reasoning tokens within `output_tokens`.")]
    cost: Annotated[
        list[float | None],
        Meta(description="The share of the span in the cost of the trace, in US dollars; null if unknown."),
    ]
    input_bytes: Annotated[list[int], Meta(description="Size of the source of the input; 0 if missing.")]
    output_bytes: Annotated[list[int], Meta(description="Size of the source of the output; 0 if missing.")]
    events: Annotated[list[int], Meta(description="Number of events.")]
    links: Annotated[list[int], Meta(description="Number of links.")]


class ToolCall(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call of a tool that a message asks for."""

    id: Annotated[str | None, Meta(description="The id by which the message with the result refers to it.")] = None
    name: Annotated[str, Meta(description="The name of the tool.")]
    arguments: Annotated[str, Meta(description="Its arguments as they were sent, usually JSON.")]


class ConversationMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message of a conversation. Missing values are omitted, except the text."""

    role: Annotated[Literal["system", "user", "assistant", "tool"], Meta(description="Who wrote it.")]
    text: Annotated[str, Meta(description="Its texts, one per line; `[image]` and the like for other parts.")]
    reasoning: Annotated[str | None, Meta(description="The reasoning of the model.")] = None
    tool_calls: Annotated[list[ToolCall] | None, Meta(description="The calls of tools that it asks for.")] = None
    tool_call_id: Annotated[str | None, Meta(description="The call whose result it is.")] = None
    name: Annotated[str | None, Meta(description="The tool whose result it is.")] = None


class Conversation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The messages of a span."""

    input: Annotated[list[ConversationMessage] | None, Meta(description="The messages that were given to it.")] = None
    output: Annotated[list[ConversationMessage] | None, Meta(description="The messages that it gave back.")] = None


class CutValue(Struct, frozen=True):
    """A truncated value."""

    path: Annotated[str, Meta(description="Where it is in the response: a JSON Pointer, RFC 6901.")]
    bytes: Annotated[int, Meta(description="The size of its whole text in UTF-8.")]


class ModelPrice(Struct, frozen=True, kw_only=True):
    """The price of a model in US dollars per million tokens."""

    model: Annotated[str, Meta(description="The name in the price table, in lower case.")]
    input: Annotated[float, Meta(description="For input tokens that are not cached.")]
    cached: Annotated[float, Meta(description="For cached input tokens.")]
    output: Annotated[float, Meta(description="For output tokens other than reasoning tokens.")]
    reasoning: Annotated[float, Meta(description="For reasoning tokens.")]
    as_of: Annotated[str, Meta(description="The date of the price table.")]


class SubtreeSums(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The sums of a span and all spans below it. Nested calls count once."""

    input_tokens: Annotated[int, Meta(description="The input tokens.")]
    output_tokens: Annotated[int, Meta(description="The output tokens.")]
    cached_tokens: Annotated[int, Meta(description="How many of `input_tokens` a cache answered.")]
    reasoning_tokens: Annotated[int, Meta(description="Reasoning tokens within `output_tokens`.")]
    cost: Cost = None
    cost_partial: CostPartial = None


class SpanDetail(TraceNode, frozen=True, kw_only=True, omit_defaults=True):
    """A span without its child spans. Missing values are omitted."""

    messages: Annotated[Conversation | None, Meta(description="Its input and output as messages.")] = None
    price: Annotated[ModelPrice | None, Meta(description="The price, if the cost is computed.")] = None
    subtree: Annotated[SubtreeSums | None, Meta(description="Its sums, if it has children.")] = None
    cut: Annotated[list[CutValue] | None, Meta(description="The values longer than `max_bytes`.")] = None


class ValuePage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of the text of a value of a span."""

    text: Annotated[str, Meta(description="Whole characters.")]
    from_: Annotated[int, Meta(ge=0, description="Where it begins, in bytes of UTF-8.")] = field(name="from")
    next: Annotated[int | None, Meta(description="Where the text goes on; absent at its end.")] = None
    bytes: Annotated[int, Meta(ge=0, description="The size of the whole text in UTF-8.")]


@dataclass(frozen=True)
class ValueRange:
    """A part of the text of a value.

    Attributes:
        path: the location of the value in the JSON of its span: a JSON Pointer (RFC 6901).
        start: the offset of the part, in bytes of UTF-8.
        max_bytes: its maximum size; None for the whole remainder.
    """

    path: str
    start: int = 0
    max_bytes: int | None = None
