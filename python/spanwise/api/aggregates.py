"""Aggregations.

Source: `docs/reference/api-counts.md#aggregate`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from spanwise.api.filters import FILTER_SCHEMA, OptionalFilter
from spanwise.api.shared import TIME_SCHEMA

MAX_BUCKETS = 1_000
MAX_BY = 2
MAX_MEASURES = 16
MAX_CELLS = 10_000
MAX_BINS = 1_000
MAX_NAME_CHARS = 64

Bound = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | Annotated[float, Meta(ge=0)]
"""A whole number, or a number of dollars."""


class Operation(StrEnum):
    """The statistic of a measure."""

    COUNT = "COUNT"
    COUNT_DISTINCT = "COUNT_DISTINCT"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    QUANTILE = "QUANTILE"
    HISTOGRAM = "HISTOGRAM"


class TimeRange(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"start": "from", "end": "to"}):
    """A time range that is divided into buckets."""

    start: Annotated[
        str | UnsetType,
        Meta(description="The start of the range; the earliest trace by default.", extra_json_schema=TIME_SCHEMA),
    ] = UNSET
    end: Annotated[
        str | UnsetType,
        Meta(
            description="The end of the range, exclusive; the latest trace by default.", extra_json_schema=TIME_SCHEMA
        ),
    ] = UNSET
    buckets: Annotated[
        int, Meta(ge=1, le=MAX_BUCKETS, description="The maximum number of buckets; one more if the first is cut.")
    ]


class By(Struct, frozen=True, omit_defaults=True):
    """A field to group by."""

    key: Annotated[str, Meta(description="A text field or `status`, not `trace_id`; or `model`, for calls.")]
    limit: Annotated[int, Meta(ge=1, le=MAX_CELLS, description="Values with a group of their own.")] = 10


class Measure(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"condition": "where"}):
    """One number or one histogram per group."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME_CHARS, description="Its name in the response.")]
    op: Annotated[Operation, Meta(description="What is computed.")]
    key: Annotated[str | UnsetType, Meta(description="The field that is measured; not for `COUNT`.")] = UNSET
    q: Annotated[float, Meta(ge=0, le=1, description="Which quantile; for `QUANTILE` only.")] | UnsetType = UNSET
    scale: Annotated[Literal["linear", "log"] | UnsetType, Meta(description="How bins grow; for `HISTOGRAM` only.")] = (
        UNSET
    )
    bins: (
        Annotated[int, Meta(ge=1, le=MAX_BINS, description="The maximum number of bins, 20 by default.")] | UnsetType
    ) = UNSET
    range: Annotated[
        tuple[Bound, Bound] | UnsetType,
        Meta(
            description=(
                "The lower and upper bound of the bins, the upper one exclusive; by default the bounds of the data."
            )
        ),
    ] = UNSET
    condition: Annotated[
        Raw,
        Meta(
            description="A filter expression: which traces of the group are measured.", extra_json_schema=FILTER_SCHEMA
        ),
    ] = field(default_factory=lambda: Raw(b"null"))


class AggregateRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of an aggregation. Unknown members are ignored."""

    filter: OptionalFilter = field(default_factory=lambda: Raw(b"null"))
    time: Annotated[TimeRange | UnsetType, Meta(description="The range and its buckets; none by default.")] = UNSET
    by: Annotated[list[By], Meta(max_length=MAX_BY, description="The fields to group by.")] = field(
        default_factory=list
    )
    measures: Annotated[
        list[Measure], Meta(min_length=1, max_length=MAX_MEASURES, description="The measures of every group.")
    ]


class TimeAxis(Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"start": "from", "end": "to"}):
    """The time buckets. Without bounds and traces there are no buckets, and only `starts` is present."""

    interval_ms: Annotated[int | UnsetType, Meta(description="The length of a bucket in milliseconds.")] = UNSET
    start: Annotated[str | UnsetType, Meta(description="The start of the range.", extra_json_schema=TIME_SCHEMA)] = (
        UNSET
    )
    end: Annotated[
        str | UnsetType, Meta(description="The end of the range, exclusive.", extra_json_schema=TIME_SCHEMA)
    ] = UNSET
    starts: Annotated[list[str], Meta(description="The start of each bucket, a multiple of the interval in UTC.")]
    first_cut: Annotated[bool | UnsetType, Meta(description="True if the range begins within the first bucket.")] = (
        UNSET
    )
    last_cut: Annotated[bool | UnsetType, Meta(description="True if the range ends within the last bucket.")] = UNSET


class HistogramBins(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A histogram. A bin counts the values from its edge to before the next one."""

    edges: Annotated[list[int | float], Meta(description="The edges of the bins, the same in all groups.")]
    counts: Annotated[list[int], Meta(description="The number of values in each bin.")]
    below: Annotated[int | UnsetType, Meta(description="Values below `range`, if it was given.")] = UNSET
    above: Annotated[int | UnsetType, Meta(description="Values above the last edge, if `range` was given.")] = UNSET


Number = int | float | None


class GroupNumbers(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers of a group, by measure name."""

    total: Annotated[dict[str, Number], Meta(description="Totals of the whole time range.")]
    series: Annotated[
        dict[str, list[Number]] | UnsetType, Meta(description="Of each bucket, if there is a `time`.")
    ] = UNSET
    histograms: Annotated[
        dict[str, HistogramBins] | UnsetType, Meta(description="Totals of the whole time range; absent without rows.")
    ] = UNSET


class Group(GroupNumbers, frozen=True, kw_only=True, omit_defaults=True):
    """The numbers of traces with equal values."""

    by: Annotated[dict[str, str | None], Meta(description="The value of each field; null for none.")]
    other: Annotated[list[str] | UnsetType, Meta(description="The fields whose values are beyond the limit.")] = UNSET


class AggregateData(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The groups of an aggregation."""

    time: Annotated[TimeAxis | UnsetType, Meta(description="The buckets, if there is a `time`.")] = UNSET
    groups: Annotated[list[Group], Meta(description="The groups, those of most traces first.")]
    other: Annotated[
        GroupNumbers | UnsetType, Meta(description="All traces whose values are beyond the limits, if any.")
    ] = UNSET
    groups_total: Annotated[
        int | UnsetType, Meta(description="The number of groups without a limit; not with two fields.")
    ] = UNSET
    values_total: Annotated[
        dict[str, int] | UnsetType, Meta(description="The number of values of each field, null counted as one.")
    ] = UNSET


class AggregateMeta(Struct, frozen=True):
    """Metadata of the aggregation."""

    search_time_ms: Annotated[float, Meta(ge=0, description="Time to the finished response, in milliseconds.")]
    matched: Annotated[int, Meta(ge=0, description="The number of traces that match, in the time range.")]


class AggregateResponse(Struct, frozen=True):
    """The response to an aggregation."""

    data: AggregateData
    meta: AggregateMeta
