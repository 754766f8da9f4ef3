"""Traces and their sessions: searches, lists, single traces, exports and deletions.

Source: `docs/reference/api-search.md`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from spanwise.api.filters import Matches, OptionalFilter
from spanwise.api.shared import (
    TIME_SCHEMA,
    Cost,
    CostPartial,
    Duration,
    PageQuery,
    Paginated,
    Status,
    StoreQuery,
    Text,
    Time,
    Total,
)
from spanwise.api.spans import SpanColumns, TraceNode
from spanwise.errors import ValidationError

NEWEST_FIRST = ("start_time", False)
"""The default order of traces."""
MIN_VALUE_BYTES = 64
"""No id, time or number is longer, so these values are never truncated."""
MAX_POSITION = 2**53 - 1
"""The greatest integer that every JSON parser represents exactly."""
_STATUS_PATTERN = "^([oO][kK]|[eE][rR][rR][oO][rR])$"
_MATCHES = Meta(description="Of a search that asks for it: what made the filter match.")


class GroupBy(StrEnum):
    """The type of the items of a search."""

    RUN = "run"
    SESSION = "session"


class Detail(StrEnum):
    """The level of detail of traces in a search."""

    FULL = "full"
    SUMMARY = "summary"


class SortKey(StrEnum):
    """A field that traces can be sorted by."""

    START_TIME = "start_time"
    DURATION_MS = "duration_ms"
    TOTAL_SPANS = "total_spans"
    ERROR_COUNT = "error_count"
    INPUT_TOKENS = "input_tokens"
    OUTPUT_TOKENS = "output_tokens"
    TOTAL_TOKENS = "total_tokens"
    CACHED_TOKENS = "cached_tokens"
    REASONING_TOKENS = "reasoning_tokens"
    LLM_CALLS = "llm_calls"
    TOOL_CALLS = "tool_calls"
    COST = "cost"
    COST_PARTIAL = "cost_partial"


class Sort(Struct, frozen=True):
    """The order of traces. Equal values are ordered by start time, newest first; traces without a value come last."""

    key: Annotated[SortKey, Meta(description="The field by whose value they are ordered.")] = SortKey.START_TIME
    ascending: Annotated[bool, Meta(description="True if the least value comes first.")] = False


class SearchRequest(Struct, frozen=True):
    """The body of a trace search. Unknown members are ignored."""

    filter: OptionalFilter = field(default_factory=lambda: Raw(b"null"))
    group_by: Annotated[GroupBy, Meta(description="The type of the items in the response.")] = GroupBy.RUN
    page: Annotated[int, Meta(ge=1, description="Page number, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20
    detail: Annotated[Detail, Meta(description="How much of each trace is shown.")] = Detail.FULL
    sort: Annotated[
        Sort | UnsetType, Meta(description="The order of traces, by start time by default; not for sessions.")
    ] = UNSET
    total: Annotated[
        Total,
        Meta(
            description=(
                "`exact` counts all traces. `at_least` lets a search of texts and spans end once its page is full; "
                "it requires sorting by newest first and is not supported for sessions."
            )
        ),
    ] = Total.EXACT
    matches: Annotated[
        bool,
        Meta(description="Include the spans and texts that made the filter match. Not supported for sessions."),
    ] = False


_LEVELS = {Detail.FULL: "full", Detail.SUMMARY: "preview"}


class PageRequest(NamedTuple):
    """The requested page of a search.

    Attributes:
        group_by: the kind of item on the page.
        page: the page number, counting from 1.
        limit: items per page.
        detail: the detail level of each run: `full`, `summary` or `preview`; ignored for sessions.
        sort: the key of a field, and True for ascending order; ignored for sessions.
        total: the accuracy of the total; ignored for sessions.
        matches: True to show which parts of each run match the filter; ignored for sessions.
    """

    group_by: GroupBy
    page: int
    limit: int
    detail: str = "full"
    sort: tuple[str, bool] = NEWEST_FIRST
    total: Total = Total.EXACT
    matches: bool = False

    @classmethod
    def of(cls, request: SearchRequest) -> PageRequest:
        """Returns the page that the body of a search requests.

        Raises:
            ValidationError: `sort` or `matches` is used with sessions, or `total: at_least` without sorting traces by
                newest first.
        """
        sort = NEWEST_FIRST if isinstance(request.sort, UnsetType) else (request.sort.key, request.sort.ascending)
        if request.group_by is GroupBy.SESSION and not isinstance(request.sort, UnsetType):
            raise ValidationError("`sort` is not supported with `group_by: session` - at `$.sort`")
        if request.total is Total.AT_LEAST and (request.group_by is GroupBy.SESSION or sort != NEWEST_FIRST):
            raise ValidationError("`total: at_least` requires sorting by newest first; use `exact` - at `$.total`")
        if request.matches and request.group_by is GroupBy.SESSION:
            raise ValidationError("`matches` is not supported with `group_by: session` - at `$.matches`")
        detail = _LEVELS[request.detail]
        return cls(request.group_by, request.page, request.limit, detail, sort, request.total, request.matches)


class DeleteRequest(Struct, frozen=True):
    """The body of a deletion. Unknown members are ignored."""

    filter: Annotated[
        Raw,
        Meta(
            description="The traces to delete; `{}` matches everything.",
            extra_json_schema={"type": "object"},
        ),
    ]
    dry_run: Annotated[bool, Meta(description="Only count the traces.")] = False


class Deleted(Struct, frozen=True):
    """The result of a deletion."""

    deleted: Annotated[int, Meta(ge=0, description="The number of traces that were deleted, or would be.")]


class ExportQuery(StoreQuery, frozen=True, kw_only=True):
    """The query parameters of an export."""

    filter: Annotated[Text, Meta(description="A filter expression in JSON; all traces by default.")] = UNSET
    format: Annotated[
        Literal["parquet", "arrow", "ndjson", "otlp"],
        Meta(description="Spans in Parquet, an Arrow stream, or OTLP protobuf; or one trace per line in JSON."),
    ] = "parquet"


class SessionsQuery(PageQuery, frozen=True, kw_only=True):
    """The query parameters of session statistics. All conditions must match."""

    user_id: Annotated[Text, Meta(description="Traces of this user.")] = UNSET
    agent_id: Annotated[Text, Meta(description="Traces of this agent.")] = UNSET
    team_id: Annotated[Text, Meta(description="Traces of this team.")] = UNSET
    workflow_id: Annotated[Text, Meta(description="Traces of this workflow.")] = UNSET
    start_time: Annotated[
        Text, Meta(description="Traces that start at this time or later; ISO 8601.", extra_json_schema=TIME_SCHEMA)
    ] = UNSET
    end_time: Annotated[
        Text, Meta(description="Traces that start at this time or earlier; ISO 8601.", extra_json_schema=TIME_SCHEMA)
    ] = UNSET


class TracesQuery(SessionsQuery, frozen=True, kw_only=True):
    """The query parameters of a list of traces. All conditions must match."""

    run_id: Annotated[Text, Meta(description="Traces of this run.")] = UNSET
    session_id: Annotated[Text, Meta(description="Traces of this session.")] = UNSET
    status: Annotated[
        Text, Meta(description="`OK` or `ERROR`, in any case.", extra_json_schema={"pattern": _STATUS_PATTERN})
    ] = UNSET
    end_time: Annotated[
        Text, Meta(description="Traces that end at this time or earlier; ISO 8601.", extra_json_schema=TIME_SCHEMA)
    ] = UNSET


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


class TraceRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The columns of a trace row. Missing values are omitted."""

    trace_id: Annotated[str, Meta(description="Unique trace identifier.")]
    name: Annotated[str, Meta(description="The name of the run, usually the name of its span.")]
    status: Annotated[Status, Meta(description="`ERROR` if any span has an error, otherwise `OK`.")]
    duration: Duration
    start_time: Annotated[Time, Meta(description="The earliest start time of a span.")]
    end_time: Annotated[Time, Meta(description="The latest end time of a span.")]
    total_spans: Annotated[int, Meta(description="Number of spans in the trace.")]
    error_count: Annotated[int, Meta(description="Number of spans with an error.")]
    run_id: Annotated[str | None, Meta(description="The id of the run.")] = None
    session_id: Annotated[str | None, Meta(description="The id of the session.")] = None
    user_id: Annotated[str | None, Meta(description="The id of the user.")] = None
    agent_id: Annotated[str | None, Meta(description="The id of the agent.")] = None
    team_id: Annotated[str | None, Meta(description="The id of the team.")] = None
    workflow_id: Annotated[str | None, Meta(description="The id of the workflow.")] = None
    created_at: Annotated[Time, Meta(description="When the trace was first received.")]
    damaged: Annotated[bool, Meta(description="True if its spans are damaged and cannot be shown.")] = False


class TracePreview(TraceRow, frozen=True, kw_only=True, omit_defaults=True):
    """A trace with up to 200 characters of each text. Missing values are omitted."""

    service: Annotated[str | None, Meta(description="The service that ran it.")] = None
    environment: Annotated[str | None, Meta(description="Where the service is deployed.")] = None
    release: Annotated[str | None, Meta(description="The version of the service.")] = None
    input_tokens: Annotated[int, Meta(description="Input tokens of all model calls.")]
    output_tokens: Annotated[int, Meta(description="Output tokens of all model calls.")]
    total_tokens: Annotated[int, Meta(description="Input and output tokens.")]
    cached_tokens: Annotated[int, Meta(description="How many of `input_tokens` a cache answered.")]
    reasoning_tokens: Annotated[int, Meta(description="How many of `output_tokens` were of reasoning.")]
    llm_calls: Annotated[int, Meta(description="Calls of language models.")]
    tool_calls: Annotated[int, Meta(description="Calls of tools.")]
    cost: Cost = None
    cost_partial: CostPartial = None
    input_preview: Annotated[str | None, Meta(description="The beginning of the input.")] = None
    output_preview: Annotated[str | None, Meta(description="The beginning of the output.")] = None
    error_preview: Annotated[str | None, Meta(description="The beginning of the error message, if it failed.")] = None
    matches: Annotated[Matches | UnsetType, _MATCHES] = UNSET


class TraceSummary(TraceRow, frozen=True, kw_only=True, omit_defaults=True):
    """A trace without its output, error and span tree. Missing values are omitted."""

    input: Annotated[str | None, Meta(description="The input of the agent, team or workflow.")] = None


class TraceDetail(TraceSummary, frozen=True, kw_only=True, omit_defaults=True):
    """A trace with its span tree. Missing values are omitted, except the tree."""

    output: Annotated[str | None, Meta(description="The output of the agent, team or workflow.")] = None
    error: Annotated[str | None, Meta(description="The error message, if it failed.")] = None
    cost: Cost = None
    cost_partial: CostPartial = None
    tree: Annotated[list[TraceNode], Meta(description="The root spans, by start time.")]
    matches: Annotated[Matches | UnsetType, _MATCHES] = UNSET


class TraceSkeleton(TracePreview, frozen=True, kw_only=True, omit_defaults=True):
    """A trace with its spans in columns, without their texts. Missing values are omitted, except the spans."""

    spans: SpanColumns


class TraceSessionStats(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Statistics of the traces of one session. Missing values are omitted."""

    session_id: Annotated[str, Meta(description="Session identifier.")]
    user_id: Annotated[str | None, Meta(description="The owner of the session.")] = None
    agent_id: Annotated[str | None, Meta(description="The agents of the session, separated by `, `.")] = None
    team_id: Annotated[str | None, Meta(description="The team of the latest trace that has one.")] = None
    workflow_id: Annotated[str | None, Meta(description="The workflow of the latest trace that has one.")] = None
    total_traces: Annotated[int, Meta(description="Number of matching traces.")]
    first_trace_at: Annotated[Time, Meta(description="The earliest start time of a matching trace.")]
    last_trace_at: Annotated[Time, Meta(description="The latest start time of a matching trace.")]


class SummaryPage(Paginated[list[TraceSummary]], frozen=True):
    """A page of traces without span trees."""


class PreviewPage(Paginated[list[TracePreview]], frozen=True):
    """A page of trace previews."""


class DetailPage(Paginated[list[TraceDetail]], frozen=True):
    """A page of traces with span trees."""


class SessionPage(Paginated[list[TraceSessionStats]], frozen=True):
    """A page of sessions."""
