"""Types that the requests and responses of several resources share.

Source: `docs/reference/api.md`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Generic, TypeAlias, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType

API_VERSION = "2.7.2"
"""The version of the API that clients expect; not the version of Spanwise."""
TIME_SCHEMA = {"format": "date-time"}
Text: TypeAlias = str | UnsetType
# Some databases cannot store the NUL character.
WITHOUT_NUL = r"^[^\x00]*$"
StoredText: TypeAlias = Annotated[str, Meta(pattern=WITHOUT_NUL)]
Items = TypeVar("Items")
Time: TypeAlias = Annotated[str, Meta(extra_json_schema=TIME_SCHEMA)]
Duration: TypeAlias = Annotated[str, Meta(description="`45ms` below one second, otherwise `1.23s`.")]
Status: TypeAlias = Annotated[str, Meta(description="`OK` or `ERROR`.")]
Cost: TypeAlias = Annotated[float | None, Meta(description="The cost of the model calls in US dollars, if known.")]
CostPartial: TypeAlias = Annotated[
    float | None, Meta(description="The known part of the cost, if the cost of a model call is unknown.")
]
Object: TypeAlias = dict[str, Any]
Objects: TypeAlias = list[dict[str, Any]]


class Total(StrEnum):
    """How the total is counted."""

    EXACT = "exact"
    AT_LEAST = "at_least"


class StoreQuery(Struct, frozen=True, kw_only=True):
    """The query parameter that selects a store. Unknown parameters are ignored."""

    db_id: Annotated[Text, Meta(description="The id of the trace store; see `/config`.")] = UNSET


class PageQuery(StoreQuery, frozen=True, kw_only=True):
    """The query parameters of a page."""

    page: Annotated[int, Meta(ge=1, description="Page number, from 1.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100, description="Items per page.")] = 20


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


class ErrorBody(Struct, frozen=True, omit_defaults=True):
    """The body of every error response."""

    detail: Annotated[str, Meta(description="The error message, with the location of the error if it has one.")]
    error_code: Annotated[str, Meta(description="The type of the error, such as `VALIDATION_ERROR`.")]
    request_id: Annotated[
        str | UnsetType, Meta(description="Of a 500, the id of the request, under which the log has the cause.")
    ] = UNSET
