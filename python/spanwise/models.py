"""The schemas of requests and responses. A decoded request is fully validated.

Source: `docs/reference/api.md`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

API_VERSION = "2.7.2"
"""The version of the API that clients expect; not the version of Spanwise."""


class GroupBy(StrEnum):
    """The type of the items of a search."""

    RUN = "run"
    SESSION = "session"


class Detail(StrEnum):
    """How much of a trace a search shows."""

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


class Sort(Struct, frozen=True):
    """The order of the traces of a search. Those of equal value are ordered by start time, the newest first."""

    key: Annotated[SortKey, Meta(description="The field by whose value they are ordered.")] = SortKey.START_TIME
    ascending: Annotated[bool, Meta(description="Whether the least value comes first.")] = False


class SearchRequest(Struct, frozen=True):
    """The body of a trace search. Unknown members are ignored."""

    filter: Annotated[
        Raw,
        Meta(
            description="A filter expression; null or `{}` matches everything.",
            extra_json_schema={"anyOf": [{"type": "object"}, {"type": "null"}]},
        ),
    ] = field(default_factory=lambda: Raw(b"null"))
    group_by: Annotated[GroupBy, Meta(description="The type of the items in the response.")] = GroupBy.RUN
    page: Annotated[int, Meta(ge=1, description="Page number, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20
    detail: Annotated[Detail, Meta(description="How much of each trace is shown.")] = Detail.FULL
    sort: Annotated[
        Sort | UnsetType, Meta(description="The order of traces, by start time by default; not for sessions.")
    ] = UNSET


class DeleteRequest(Struct, frozen=True):
    """The body of a deletion. Unknown members are ignored."""

    filter: Annotated[
        Raw,
        Meta(
            description="The traces to delete; `{}` matches everything.",
            extra_json_schema={"type": "object"},
        ),
    ]
    dry_run: Annotated[bool, Meta(description="Whether to only count the traces.")] = False


class Deleted(Struct, frozen=True):
    """The result of a deletion."""

    deleted: Annotated[int, Meta(ge=0, description="The number of traces that were deleted, or would be.")]


Text: TypeAlias = str | UnsetType
# Some databases cannot store the NUL character.
WITHOUT_NUL = r"^[^\x00]*$"
StoredText: TypeAlias = Annotated[str, Meta(pattern=WITHOUT_NUL)]
Items = TypeVar("Items")


class StoreQuery(Struct, frozen=True, kw_only=True):
    """The query parameter that selects a store. Unknown parameters are ignored."""

    db_id: Annotated[Text, Meta(description="The id of the trace store; see `/config`.")] = UNSET


class TraceQuery(StoreQuery, frozen=True, kw_only=True):
    """The query parameters of a trace."""

    span_id: Annotated[Text, Meta(description="Return only this span, without its children.")] = UNSET


class ExportQuery(StoreQuery, frozen=True, kw_only=True):
    """The query parameters of an export."""

    filter: Annotated[Text, Meta(description="A filter expression in JSON; all traces by default.")] = UNSET
    format: Annotated[
        Literal["parquet", "arrow", "ndjson", "otlp"],
        Meta(description="Spans in Parquet, an Arrow stream, or OTLP protobuf; or one trace per line in JSON."),
    ] = "parquet"


class PageQuery(StoreQuery, frozen=True, kw_only=True):
    """The query parameters of a page."""

    page: Annotated[int, Meta(ge=1, description="Page number, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20


_TIME = {"format": "date-time"}
_STATUS_PATTERN = "^([oO][kK]|[eE][rR][rR][oO][rR])$"


class SessionsQuery(PageQuery, frozen=True, kw_only=True):
    """The query parameters of session statistics. All conditions must match."""

    user_id: Annotated[Text, Meta(description="Traces of this user.")] = UNSET
    agent_id: Annotated[Text, Meta(description="Traces of this agent.")] = UNSET
    team_id: Annotated[Text, Meta(description="Traces of this team.")] = UNSET
    workflow_id: Annotated[Text, Meta(description="Traces of this workflow.")] = UNSET
    start_time: Annotated[
        Text, Meta(description="Traces that start at this time or later; ISO 8601.", extra_json_schema=_TIME)
    ] = UNSET
    end_time: Annotated[
        Text, Meta(description="Traces that start at this time or earlier; ISO 8601.", extra_json_schema=_TIME)
    ] = UNSET


class TracesQuery(SessionsQuery, frozen=True, kw_only=True):
    """The query parameters of a list of traces. All conditions must match."""

    run_id: Annotated[Text, Meta(description="Traces of this run.")] = UNSET
    session_id: Annotated[Text, Meta(description="Traces of this session.")] = UNSET
    status: Annotated[
        Text, Meta(description="`OK` or `ERROR`, in any case.", extra_json_schema={"pattern": _STATUS_PATTERN})
    ] = UNSET
    end_time: Annotated[
        Text, Meta(description="Traces that end at this time or earlier; ISO 8601.", extra_json_schema=_TIME)
    ] = UNSET


Time: TypeAlias = Annotated[str, Meta(extra_json_schema=_TIME)]
Duration: TypeAlias = Annotated[str, Meta(description="`45ms` below one second, otherwise `1.23s`.")]
Status: TypeAlias = Annotated[str, Meta(description="`OK` or `ERROR`.")]
Object: TypeAlias = dict[str, Any]


class TraceRow(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a trace is searched by. Missing values are omitted."""

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
    damaged: Annotated[bool, Meta(description="Whether its spans are damaged and cannot be shown.")] = False


class TracePreview(TraceRow, frozen=True, kw_only=True, omit_defaults=True):
    """A trace with the beginnings of its texts, each of at most 200 characters. Missing values are omitted."""

    input_tokens: Annotated[int, Meta(description="Input tokens of all model calls.")]
    output_tokens: Annotated[int, Meta(description="Output tokens of all model calls.")]
    input_preview: Annotated[str | None, Meta(description="The beginning of the input.")] = None
    output_preview: Annotated[str | None, Meta(description="The beginning of the output.")] = None
    error_preview: Annotated[str | None, Meta(description="The beginning of the error message, if it failed.")] = None


class TraceSummary(TraceRow, frozen=True, kw_only=True, omit_defaults=True):
    """A trace without its output, error and span tree. Missing values are omitted."""

    input: Annotated[str | None, Meta(description="The input of the agent, team or workflow.")] = None


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
    extra_data: Annotated[Object | None, Meta(description="All other attributes, events, links and the resource.")] = (
        None
    )


class TraceDetail(TraceSummary, frozen=True, kw_only=True, omit_defaults=True):
    """A trace with its span tree. Missing values are omitted, except the tree."""

    output: Annotated[str | None, Meta(description="The output of the agent, team or workflow.")] = None
    error: Annotated[str | None, Meta(description="The error message, if it failed.")] = None
    tree: Annotated[list[TraceNode], Meta(description="The root spans, by start time.")]


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


class PaginationInfo(Struct, frozen=True):
    """Pagination metadata."""

    page: Annotated[int, Meta(ge=0, description="The requested page, from 1.")] = 0
    limit: Annotated[int, Meta(ge=1, description="Items per page.")] = 20
    total_pages: Annotated[int, Meta(ge=0, description="The exact number of pages.")] = 0
    total_count: Annotated[int, Meta(ge=0, description="The exact number of items.")] = 0
    search_time_ms: Annotated[
        float, Meta(ge=0, description="Time from compiling the filter to the finished page, in milliseconds.")
    ] = 0.0


class Paginated(Struct, Generic[Items], frozen=True):
    """A page of items. Items that the engine returns as JSON are passed through unchanged."""

    data: Items
    meta: PaginationInfo


class SummaryPage(Paginated[list[TraceSummary]], frozen=True):
    """A page of traces without span trees."""


class PreviewPage(Paginated[list[TracePreview]], frozen=True):
    """A page of traces with the beginnings of their texts."""


class DetailPage(Paginated[list[TraceDetail]], frozen=True):
    """A page of traces with span trees."""


class SessionPage(Paginated[list[TraceSessionStats]], frozen=True):
    """A page of sessions."""


class ErrorBody(Struct, frozen=True):
    """The body of every error response."""

    detail: Annotated[str, Meta(description="The error message, with the location of the error if it has one.")]
    error_code: Annotated[str, Meta(description="The type of the error, such as `VALIDATION_ERROR`.")]


class OtlpStatus(Struct, frozen=True):
    """The body of an OTLP error response: a `google.rpc.Status`."""

    code: Annotated[int, Meta(description="A gRPC status code.")]
    message: Annotated[str, Meta(description="The error message.")]


class ExportPartialSuccess(Struct, frozen=True, rename="camel"):
    """The rejected part of an OTLP request."""

    rejected_spans: Annotated[str, Meta(description="The number of rejected spans, as a string.")] = "0"
    error_message: Annotated[str, Meta(description="Why the first of them was rejected.")] = ""


class ExportResponse(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The response to an OTLP request that was stored, at least in part."""

    partial_success: ExportPartialSuccess | UnsetType = UNSET


class LogExportPartialSuccess(Struct, frozen=True, rename="camel"):
    """The rejected part of an OTLP request with log records."""

    rejected_log_records: Annotated[str, Meta(description="The number of rejected log records, as a string.")] = "0"
    error_message: Annotated[str, Meta(description="Why the first of them was rejected.")] = ""


class LogExportResponse(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The response to an OTLP request with log records."""

    partial_success: LogExportPartialSuccess | UnsetType = UNSET


class MetricExportResponse(Struct, frozen=True):
    """The response to an OTLP request with metrics."""


class FilterField(Struct, frozen=True):
    """A filterable field with its operators."""

    key: str
    label: str
    type: Literal["string", "enum", "number", "datetime"]
    operators: list[str]
    values: list[str] | None


class FilterSchema(Struct, frozen=True):
    """The fields and operators of filters."""

    fields: list[FilterField]
    logical_operators: list[str]
