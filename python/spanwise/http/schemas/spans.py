"""The shapes of traces in columns, of single spans and of their values.

See `docs/reference/api-search.md#one-trace`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from spanwise.models import StoreQuery, Text, TraceNode, TracePreview

MIN_VALUE_BYTES = 64
"""No id, time or number is longer, so these values are never truncated."""
MAX_POSITION = 2**53 - 1
"""The greatest integer that every JSON parser represents exactly."""


class TraceDetailLevel(StrEnum):
    """How much of one trace is shown."""

    FULL = "full"
    SKELETON = "skeleton"


class TraceQuery(StoreQuery, frozen=True, kw_only=True):
    """The query parameters of a trace."""

    detail: Annotated[
        TraceDetailLevel | UnsetType,
        Meta(description="How much of the trace is shown: its tree by default, or its spans in columns."),
    ] = UNSET
    span_id: Annotated[Text, Meta(description="Return only this span, without its children.")] = UNSET
    max_bytes: Annotated[
        Annotated[int, Meta(ge=MIN_VALUE_BYTES, le=MAX_POSITION)] | UnsetType,
        Meta(description="The maximum bytes of UTF-8 per value; longer values are cut."),
    ] = UNSET
    path: Annotated[
        Text, Meta(description="Return only this value of the span, as text; a JSON Pointer, as in `cut`.")
    ] = UNSET
    from_: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_POSITION)] | UnsetType,
        Meta(description="Where in the text of the value to begin, in bytes of UTF-8."),
    ] = field(default=UNSET, name="from")


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
    input_bytes: Annotated[list[int], Meta(description="Size of the source of the input; 0 if missing.")]
    output_bytes: Annotated[list[int], Meta(description="Size of the source of the output; 0 if missing.")]
    events: Annotated[list[int], Meta(description="Number of events.")]
    links: Annotated[list[int], Meta(description="Number of links.")]


class TraceSkeleton(TracePreview, frozen=True, kw_only=True, omit_defaults=True):
    """A trace with its spans in columns, without their texts. Missing values are omitted, except the spans."""

    spans: SpanColumns


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
    """A value of which only the beginning is shown."""

    path: Annotated[str, Meta(description="Where it is in the response: a JSON Pointer, RFC 6901.")]
    bytes: Annotated[int, Meta(description="The size of its whole text in UTF-8.")]


class SpanDetail(TraceNode, frozen=True, kw_only=True, omit_defaults=True):
    """A span without its child spans. Missing values are omitted."""

    messages: Annotated[Conversation | None, Meta(description="Its input and output as messages.")] = None
    cut: Annotated[list[CutValue] | None, Meta(description="The values longer than `max_bytes`.")] = None


class ValuePage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of the text of a value of a span."""

    text: Annotated[str, Meta(description="Whole characters.")]
    from_: Annotated[int, Meta(ge=0, description="Where it begins, in bytes of UTF-8.")] = field(name="from")
    next: Annotated[int | None, Meta(description="Where the text goes on; absent at its end.")] = None
    bytes: Annotated[int, Meta(ge=0, description="The size of the whole text in UTF-8.")]
