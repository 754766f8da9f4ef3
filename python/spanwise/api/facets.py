"""Facets: counts of the values of fields.

Source: `docs/reference/api-counts.md#facets`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from spanwise.api.filters import OptionalFilter

FACET_FIELDS = (
    "status",
    "user_id",
    "agent_id",
    "team_id",
    "workflow_id",
    "session_id",
    "run_id",
    "name",
    "service",
    "environment",
    "release",
)
"""The fields whose values can be counted: texts except the trace id, whose values are all different."""


class FacetPrefix(Struct, frozen=True):
    """Narrows the values of one field to those that start with a text. Case counts."""

    field: Annotated[str, Meta(description="One of `fields`.", extra_json_schema={"enum": list(FACET_FIELDS)})]
    text: Annotated[str, Meta(max_length=1_024, description="A prefix of its values.")]


class FacetsRequest(Struct, frozen=True):
    """The body of a request for facets. Unknown members are ignored."""

    fields: Annotated[
        list[str],
        Meta(
            min_length=1,
            max_length=len(FACET_FIELDS),
            description="The fields whose values are counted, each once.",
            extra_json_schema={"items": {"type": "string", "enum": list(FACET_FIELDS)}, "uniqueItems": True},
        ),
    ]
    filter: OptionalFilter = field(default_factory=lambda: Raw(b"null"))
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Values per field.")] = 20
    prefix: Annotated[FacetPrefix | UnsetType, Meta(description="Narrows the values of one field.")] = UNSET
    exclude_own: Annotated[bool, Meta(description="Ignore the conditions on a field for its own counts.")] = False


class FacetValue(Struct, frozen=True):
    """A value of a field."""

    value: Annotated[str, Meta(description="The text.")]
    count: Annotated[int, Meta(ge=1, description="The number of traces that have it.")]


class Facet(Struct, frozen=True):
    """The values of one field."""

    values: Annotated[list[FacetValue], Meta(description="The most frequent ones; equally frequent ones by value.")]
    distinct: Annotated[int, Meta(ge=0, description="The exact number of values.")]
    missing: Annotated[int, Meta(ge=0, description="The number of traces without a value.")]
    truncated: Annotated[bool, Meta(description="True if there are more values than `limit`.")]


class FacetsInfo(Struct, frozen=True):
    """Facts about all facets together."""

    search_time_ms: Annotated[
        float, Meta(ge=0, description="Time from compiling the filter to the finished facets, in milliseconds.")
    ]
    matched: Annotated[int, Meta(ge=0, description="The number of traces that the whole filter matches.")]
    exclude_own_ignored: Annotated[
        list[str], Meta(description="Fields whose conditions still apply because they are combined with other fields.")
    ]


class FacetsResponse(Struct, frozen=True):
    """The counted facets, by field in the order of the request."""

    data: dict[str, Facet]
    meta: FacetsInfo
