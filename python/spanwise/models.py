"""The schemas of requests and responses. A decoded request is fully validated.

Source: `docs/reference/api.md`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from spanwise.filter_models import Matches

API_VERSION = "2.7.2"
"""The version of the API that clients expect; not the version of Spanwise."""


class GroupBy(StrEnum):
    """The type of the items of a search."""

    RUN = "run"
    SESSION = "session"


class Detail(StrEnum):
    """The level of detail of traces in a search."""

    FULL = "full"
    SUMMARY = "summary"


class Total(StrEnum):
    """How the total is counted."""

    EXACT = "exact"
    AT_LEAST = "at_least"


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


Text: TypeAlias = str | UnsetType
# Some databases cannot store the NUL character.
WITHOUT_NUL = r"^[^\x00]*$"
StoredText: TypeAlias = Annotated[str, Meta(pattern=WITHOUT_NUL)]
Items = TypeVar("Items")


class StoreQuery(Struct, frozen=True, kw_only=True):
    """The query parameter that selects a store. Unknown parameters are ignored."""

    db_id: Annotated[Text, Meta(description="The id of the trace store; see `/config`.")] = UNSET


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
_COST = Meta(description="The cost of the model calls in US dollars, if known.")
_COST_PARTIAL = Meta(description="The known part of the cost, if the cost of a model call is unknown.")
_MATCHES = Meta(description="Of a search that asks for it: what made the filter match.")


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
    cost: Annotated[float | None, _COST] = None
    cost_partial: Annotated[float | None, _COST_PARTIAL] = None
    input_preview: Annotated[str | None, Meta(description="The beginning of the input.")] = None
    output_preview: Annotated[str | None, Meta(description="The beginning of the output.")] = None
    error_preview: Annotated[str | None, Meta(description="The beginning of the error message, if it failed.")] = None
    matches: Annotated[Matches | UnsetType, _MATCHES] = UNSET


class TraceSummary(TraceRow, frozen=True, kw_only=True, omit_defaults=True):
    """A trace without its output, error and span tree. Missing values are omitted."""

    input: Annotated[str | None, Meta(description="The input of the agent, team or workflow.")] = None


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
    extra_data: Annotated[
        ExtraData | None, Meta(description="All other attributes, events, links and the resource.")
    ] = None


class TraceDetail(TraceSummary, frozen=True, kw_only=True, omit_defaults=True):
    """A trace with its span tree. Missing values are omitted, except the tree."""

    output: Annotated[str | None, Meta(description="The output of the agent, team or workflow.")] = None
    error: Annotated[str | None, Meta(description="The error message, if it failed.")] = None
    cost: Annotated[float | None, _COST] = None
    cost_partial: Annotated[float | None, _COST_PARTIAL] = None
    tree: Annotated[list[TraceNode], Meta(description="The root spans, by start time.")]
    matches: Annotated[Matches | UnsetType, _MATCHES] = UNSET


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

    page: Annotated[int, Meta(ge=0, description="The requested page, from 1.")]
    limit: Annotated[int, Meta(ge=1, description="Items per page.")]
    total_pages: Annotated[int, Meta(ge=0, description="The number of pages.")]
    total_count: Annotated[int, Meta(ge=0, description="The number of items; exact, unless `total_is` says otherwise.")]
    search_time_ms: Annotated[
        float, Meta(ge=0, description="Time from compiling the filter to the finished page, in milliseconds.")
    ]
    total_is: Annotated[
        Total | UnsetType, Meta(description="`at_least`: there may be more; only if the request allows it.")
    ] = UNSET


class Paginated(Struct, Generic[Items], frozen=True):
    """A page of items. Items that the engine returns as JSON are passed through unchanged."""

    data: Items
    meta: PaginationInfo


class SummaryPage(Paginated[list[TraceSummary]], frozen=True):
    """A page of traces without span trees."""


class PreviewPage(Paginated[list[TracePreview]], frozen=True):
    """A page of trace previews."""


class DetailPage(Paginated[list[TraceDetail]], frozen=True):
    """A page of traces with span trees."""


class SessionPage(Paginated[list[TraceSessionStats]], frozen=True):
    """A page of sessions."""


class ErrorBody(Struct, frozen=True, omit_defaults=True):
    """The body of every error response."""

    detail: Annotated[str, Meta(description="The error message, with the location of the error if it has one.")]
    error_code: Annotated[str, Meta(description="The type of the error, such as `VALIDATION_ERROR`.")]
    request_id: Annotated[
        str | UnsetType, Meta(description="Of a 500, the id of the request, under which the log has the cause.")
    ] = UNSET


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
