"""The shapes on the wire, as data. A request that fits its shape here needs no further validation.

Source: specification, "Resources and their fields".
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

API_VERSION = "2.7.2"
"""The version of the API that existing clients know; not that of Spanwise."""


class GroupBy(StrEnum):
    """What one item of a search is."""

    RUN = "run"
    SESSION = "session"


class SearchRequest(Struct, frozen=True):
    """The body of a trace search. Members it does not name are ignored."""

    filter: Raw = Raw(b"null")
    group_by: GroupBy = GroupBy.RUN
    page: Annotated[int, Meta(ge=1, description="Counts from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20


Text: TypeAlias = str | UnsetType


class PageQuery(Struct, frozen=True, kw_only=True):
    """The part of a query that says which page, of which store. Parameters it does not name are ignored."""

    db_id: Annotated[Text, Meta(description="The store to read from; the first one if not given.")] = UNSET
    page: Annotated[int, Meta(ge=1, description="Counts from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20


class SessionsQuery(PageQuery, frozen=True, kw_only=True):
    """Which traces are counted by session. What is given is AND-ed."""

    user_id: Annotated[Text, Meta(description="Traces of this user.")] = UNSET
    agent_id: Annotated[Text, Meta(description="Traces of this agent.")] = UNSET
    team_id: Annotated[Text, Meta(description="Traces of this team.")] = UNSET
    workflow_id: Annotated[Text, Meta(description="Traces of this workflow.")] = UNSET
    start_time: Annotated[Text, Meta(description="Traces that start at this time or later; ISO 8601.")] = UNSET
    end_time: Annotated[Text, Meta(description="Traces that start at this time or earlier; ISO 8601.")] = UNSET


class TracesQuery(SessionsQuery, frozen=True, kw_only=True):
    """Which traces are listed. What is given is AND-ed."""

    run_id: Annotated[Text, Meta(description="Traces of this run.")] = UNSET
    session_id: Annotated[Text, Meta(description="Traces of this session.")] = UNSET
    status: Annotated[Text, Meta(description="`OK` or `ERROR`, in any case.")] = UNSET
    end_time: Annotated[Text, Meta(description="Traces that end at this time or earlier; ISO 8601.")] = UNSET


class PaginationInfo(Struct, frozen=True):
    """Where a page stands among all items."""

    page: Annotated[int, Meta(description="The page that was asked for; counts from 1.")] = 0
    limit: Annotated[int, Meta(description="Items per page.")] = 20
    total_pages: int = 0
    total_count: Annotated[int, Meta(description="The exact number of items.")] = 0
    search_time_ms: Annotated[
        float, Meta(description="From compiling the filter to the finished page, in milliseconds.")
    ] = 0.0


class Paginated(Struct, frozen=True):
    """One page of items. The items come from the engine as finished JSON and pass through as they are."""

    data: Raw
    meta: PaginationInfo


class ErrorBody(Struct, frozen=True):
    """The body of every answer that is an error."""

    detail: str
    error_code: str


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
