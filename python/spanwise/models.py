"""The shapes on the wire, as data. A request that fits its shape here needs no further validation.

Source: specification, "Resources and their fields".
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta, Raw, Struct


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
