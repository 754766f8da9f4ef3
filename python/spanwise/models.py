"""The shapes on the wire, as data. A request that fits its shape here needs no further validation.

Source: specification, "Resources and their fields".
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

API_VERSION = "2.7.2"
"""The version of the API that existing clients know; not that of Spanwise."""


class GroupBy(StrEnum):
    """What one item of a search is."""

    RUN = "run"
    SESSION = "session"


class SearchRequest(Struct, frozen=True):
    """The body of a trace search. Members it does not name are ignored."""

    filter: Annotated[
        Raw,
        Meta(
            description="A filter expression; null or `{}` matches everything.",
            extra_json_schema={"anyOf": [{"type": "object"}, {"type": "null"}]},
        ),
    ] = field(default_factory=lambda: Raw(b"null"))
    group_by: Annotated[GroupBy, Meta(description="What one item of the answer is.")] = GroupBy.RUN
    page: Annotated[int, Meta(ge=1, description="Counts from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20


class DeleteRequest(Struct, frozen=True):
    """The body of a deletion. Members it does not name are ignored."""

    filter: Annotated[
        Raw,
        Meta(
            description="Which traces are deleted; `{}` matches everything.",
            extra_json_schema={"type": "object"},
        ),
    ]
    dry_run: Annotated[bool, Meta(description="Whether they are only counted.")] = False


class Deleted(Struct, frozen=True):
    """What became of a deletion."""

    deleted: Annotated[int, Meta(ge=0, description="The number of traces that were deleted, or would be.")]


Text: TypeAlias = str | UnsetType
# Not every database holds the character NUL.
WITHOUT_NUL = r"^[^\x00]*$"
StoredText: TypeAlias = Annotated[str, Meta(pattern=WITHOUT_NUL)]
Items = TypeVar("Items")


class StoreQuery(Struct, frozen=True, kw_only=True):
    """The part of a query that says which store is meant. Parameters it does not name are ignored."""

    db_id: Annotated[Text, Meta(description="The id of the trace store; the first one if not given.")] = UNSET


class TraceQuery(StoreQuery, frozen=True, kw_only=True):
    """Which part of a trace is shown."""

    span_id: Annotated[Text, Meta(description="Only this span, without its children.")] = UNSET


class ExportQuery(StoreQuery, frozen=True, kw_only=True):
    """Which traces are exported, and how."""

    filter: Annotated[Text, Meta(description="A filter expression as JSON; all traces if not given.")] = UNSET
    format: Annotated[
        Literal["parquet", "arrow", "ndjson", "otlp"],
        Meta(description="Spans as Parquet, as a stream of Arrow or as OTLP in protobuf; or a trace a line as JSON."),
    ] = "parquet"


class PageQuery(StoreQuery, frozen=True, kw_only=True):
    """Which page of which store is shown."""

    page: Annotated[int, Meta(ge=1, description="Counts from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20


_TIME = {"format": "date-time"}
_STATUS_PATTERN = "^([oO][kK]|[eE][rR][rR][oO][rR])$"


class SessionsQuery(PageQuery, frozen=True, kw_only=True):
    """Which traces are counted by session. What is given is AND-ed."""

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
    """Which traces are listed. What is given is AND-ed."""

    run_id: Annotated[Text, Meta(description="Traces of this run.")] = UNSET
    session_id: Annotated[Text, Meta(description="Traces of this session.")] = UNSET
    status: Annotated[
        Text, Meta(description="`OK` or `ERROR`, in any case.", extra_json_schema={"pattern": _STATUS_PATTERN})
    ] = UNSET
    end_time: Annotated[
        Text, Meta(description="Traces that end at this time or earlier; ISO 8601.", extra_json_schema=_TIME)
    ] = UNSET


Time: TypeAlias = Annotated[str, Meta(extra_json_schema=_TIME)]
Duration: TypeAlias = Annotated[str, Meta(description="`45ms` below a second, from there `1.23s`.")]
Status: TypeAlias = Annotated[str, Meta(description="`OK` or `ERROR`.")]
Object: TypeAlias = dict[str, Any]


class TraceSummary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One trace. What it does not have is left out."""

    trace_id: Annotated[str, Meta(description="Unique trace identifier.")]
    name: Annotated[str, Meta(description="The name of the run, usually that of its span.")]
    status: Annotated[Status, Meta(description="`ERROR` if any span is in error, else `OK`.")]
    duration: Duration
    start_time: Annotated[Time, Meta(description="The earliest start of a span.")]
    end_time: Annotated[Time, Meta(description="The latest end of a span.")]
    total_spans: Annotated[int, Meta(description="Number of spans in the trace.")]
    error_count: Annotated[int, Meta(description="Number of spans in error.")]
    input: Annotated[str | None, Meta(description="What the agent, team or workflow was given.")] = None
    run_id: Annotated[str | None, Meta(description="The run.")] = None
    session_id: Annotated[str | None, Meta(description="The session of the run.")] = None
    user_id: Annotated[str | None, Meta(description="The user of the run.")] = None
    agent_id: Annotated[str | None, Meta(description="The agent that ran.")] = None
    team_id: Annotated[str | None, Meta(description="The team that ran.")] = None
    workflow_id: Annotated[str | None, Meta(description="The workflow that ran.")] = None
    created_at: Annotated[Time, Meta(description="When the trace was first received.")]


class TraceNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One span of a trace, with the spans below it. What it does not have is left out."""

    id: Annotated[str, Meta(description="Span identifier.")]
    name: Annotated[str, Meta(description="Span name.")]
    type: Annotated[str, Meta(description="The kind of span: `AGENT`, `TEAM`, `WORKFLOW`, `LLM`, `TOOL` and others.")]
    duration: Duration
    start_time: Annotated[Time, Meta(description="When the span started.")]
    end_time: Annotated[Time, Meta(description="When the span ended.")]
    status: Status
    input: Annotated[str | None, Meta(description="What the span was given.")] = None
    output: Annotated[str | None, Meta(description="What the span gave back.")] = None
    error: Annotated[str | None, Meta(description="Why it failed, if it did.")] = None
    spans: Annotated[list[TraceNode] | None, Meta(description="The spans below it, by start time.")] = None
    step_type: Annotated[str | None, Meta(description="The kind of workflow step.")] = None
    metadata: Annotated[Object | None, Meta(description="The attributes that have names of their own.")] = None
    extra_data: Annotated[Object | None, Meta(description="All other attributes, events, links, resource.")] = None


class TraceDetail(TraceSummary, frozen=True, kw_only=True, omit_defaults=True):
    """One trace with its span tree. What it does not have is left out, but for the tree."""

    output: Annotated[str | None, Meta(description="What the agent, team or workflow gave back.")] = None
    error: Annotated[str | None, Meta(description="Why it failed, if it did.")] = None
    tree: Annotated[list[TraceNode], Meta(description="The root spans, by start time.")]


class TraceSessionStats(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The traces of one session, counted. What it does not have is left out."""

    session_id: Annotated[str, Meta(description="Session identifier.")]
    user_id: Annotated[str | None, Meta(description="The user of the latest trace that has one.")] = None
    agent_id: Annotated[str | None, Meta(description="The agents of the session, joined by `, `.")] = None
    team_id: Annotated[str | None, Meta(description="The team of the latest trace that has one.")] = None
    workflow_id: Annotated[str | None, Meta(description="The workflow of the latest trace that has one.")] = None
    total_traces: Annotated[int, Meta(description="Number of traces that match.")]
    first_trace_at: Annotated[Time, Meta(description="The earliest start of a trace that matches.")]
    last_trace_at: Annotated[Time, Meta(description="The latest start of a trace that matches.")]


class PaginationInfo(Struct, frozen=True):
    """Where a page stands among all items."""

    page: Annotated[int, Meta(ge=0, description="The page that was asked for; counts from 1.")] = 0
    limit: Annotated[int, Meta(ge=1, description="Items per page.")] = 20
    total_pages: Annotated[int, Meta(ge=0, description="The exact number of pages.")] = 0
    total_count: Annotated[int, Meta(ge=0, description="The exact number of items.")] = 0
    search_time_ms: Annotated[
        float, Meta(ge=0, description="From compiling the filter to the finished page, in milliseconds.")
    ] = 0.0


class Paginated(Struct, Generic[Items], frozen=True):
    """One page of items. Those that come from the engine as finished JSON pass through as they are."""

    data: Items
    meta: PaginationInfo


class SummaryPage(Paginated[list[TraceSummary]], frozen=True):
    """One page of traces without their trees."""


class DetailPage(Paginated[list[TraceDetail]], frozen=True):
    """One page of traces with their trees."""


class SessionPage(Paginated[list[TraceSessionStats]], frozen=True):
    """One page of sessions."""


class ErrorBody(Struct, frozen=True):
    """The body of every answer that is an error."""

    detail: Annotated[str, Meta(description="What was wrong, and where.")]
    error_code: Annotated[str, Meta(description="The kind of error, such as `VALIDATION_ERROR`.")]


class OtlpStatus(Struct, frozen=True):
    """The body of a refused export: a `google.rpc.Status`."""

    code: Annotated[int, Meta(description="A code of gRPC.")]
    message: Annotated[str, Meta(description="What was wrong.")]


class ExportPartialSuccess(Struct, frozen=True, rename="camel"):
    """What of an export was not stored."""

    rejected_spans: Annotated[str, Meta(description="The number of spans that were not stored, as text.")] = "0"
    error_message: Annotated[str, Meta(description="Why the first of them was not.")] = ""


class ExportAnswer(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The answer to an export, stored at least in part."""

    partial_success: ExportPartialSuccess | UnsetType = UNSET


class FilterField(Struct, frozen=True):
    """One filterable field and what may be asked of it."""

    key: str
    label: str
    type: Literal["string", "enum", "number", "datetime"]
    operators: list[str]
    values: list[str] | None


class FilterSchema(Struct, frozen=True):
    """What a filter may be made of."""

    fields: list[FilterField]
    logical_operators: list[str]


class HealthQuery(Struct, frozen=True, kw_only=True):
    """What health is asked about."""

    ready: Annotated[Text, Meta(description="`true`: 503 unless the service takes in what it is sent.")] = UNSET


class Health(Struct, frozen=True):
    """The service is alive."""

    status: Literal["ok"]
    instantiated_at: Annotated[str, Meta(description="When this process came up: ISO 8601, UTC.")]


class Overview(Struct, frozen=True):
    """What answers at the root."""

    name: Annotated[str, Meta(description="The service's name, for people.")]
    id: Annotated[str, Meta(description="The service's name, for programs.")]
    version: Annotated[str, Meta(description="The version of the API.")]


class ToolServer(Struct, frozen=True):
    """Whether components are offered as tools over MCP."""

    enabled: bool = False
    path: str | None = None
    oauth: bool | None = None


class Info(Struct, frozen=True):
    """What anybody may know about the service: how to sign in, and how much it hosts."""

    os_id: Annotated[str, Meta(description="The service's name, for programs.")]
    name: Annotated[str, Meta(description="The service's name, for people.")]
    agno_version: Annotated[str, Meta(description="The version of the API.")]
    agent_count: int
    team_count: int
    workflow_count: int
    mcp: ToolServer
    auth_mode: Annotated[Literal["jwt", "none"], Meta(description="`jwt`: a bearer token is needed.")]


class Model(Struct, frozen=True, omit_defaults=True):
    """A model that something hosted uses."""

    id: Annotated[str | None, Meta(description="Its name, for programs.")] = None
    provider: Annotated[str | None, Meta(description="Who offers it.")] = None


class HostedSummary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An agent, team or workflow, or a factory of one. What it does not have is left out."""

    id: Annotated[str, Meta(description="Its handle in URL paths.")]
    name: Annotated[str, Meta(description="Its name, for people.")]
    description: Annotated[str | None, Meta(description="What it is good for.")] = None
    db_id: Annotated[str | None, Meta(description="The database it was given, if that has an id.")] = None
    model: Annotated[Model | None, Meta(description="The model behind it.")] = None
    mode: Annotated[str | None, Meta(description="How a team is coordinated.")] = None
    is_factory: Annotated[bool | None, Meta(description="Of a workflow: whether requests get one of their own.")] = None
    factory_input_schema: Annotated[Object | None, Meta(description="Of a workflow factory: its input.")] = None
    is_component: Annotated[bool | None, Meta(description="Of a workflow: always false.")] = None


class DomainConfig(Struct, frozen=True):
    """How clients call the contents of a database."""

    display_name: Annotated[str, Meta(description="A heading, for people.")]


class DatabaseConfig(Struct, frozen=True):
    """A database, as clients name it in `db_id`."""

    db_id: Annotated[str, Meta(description="Its id.")]
    domain_config: Annotated[DomainConfig, Meta(description="How it is shown.")]


class DatabasesConfig(Struct, frozen=True):
    """The databases that hold something."""

    dbs: Annotated[list[DatabaseConfig], Meta(description="Each of them.")]


class Config(Struct, frozen=True, kw_only=True):
    """What the service consists of, for programs that show it."""

    os_id: Annotated[str, Meta(description="The service's name, for programs.")]
    name: Annotated[str, Meta(description="The service's name, for people.")]
    available_models: Annotated[list[str], Meta(description="The models that agents and teams use.")]
    os_database: Annotated[str, Meta(description="The database of sessions and runs.")]
    databases: Annotated[list[str], Meta(description="Every id that `db_id` may be.")]
    session: Annotated[DatabasesConfig, Meta(description="Where sessions are.")]
    traces: Annotated[DatabasesConfig, Meta(description="Where traces are.")]
    agents: Annotated[list[HostedSummary], Meta(description="The agents that are hosted.")]
    teams: Annotated[list[HostedSummary], Meta(description="The teams that are hosted.")]
    workflows: Annotated[list[HostedSummary], Meta(description="The workflows that are hosted.")]
    interfaces: Annotated[list[Object], Meta(description="Always empty: there are no other ways in.")]
