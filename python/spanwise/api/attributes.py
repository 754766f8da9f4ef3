"""Attribute keys.

Source: `docs/reference/api-counts.md#attributes`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct

from spanwise.api.shared import StoreQuery, Text


class AttributesQuery(StoreQuery, frozen=True, kw_only=True):
    """The query parameters of attribute keys."""

    filter: Annotated[Text, Meta(description="A filter expression in JSON; all traces by default.")] = UNSET
    prefix: Annotated[
        str,
        Meta(
            max_length=1_100,
            description="A prefix of the keys: `attributes.` or `resource.`, and the beginning of the key.",
        ),
    ] = ""
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Keys to return.")] = 100


class AttributeKey(Struct, frozen=True):
    """A key of attributes."""

    key: Annotated[str, Meta(description="The key as filters spell it: `attributes.<key>` or `resource.<key>`.")]
    count: Annotated[int, Meta(ge=1, description="The number of traces with a span that has it.")]


class AttributesInfo(Struct, frozen=True):
    """Facts about all keys together."""

    search_time_ms: Annotated[
        float, Meta(ge=0, description="Time from compiling the filter to the counted keys, in milliseconds.")
    ]
    matched: Annotated[int, Meta(ge=0, description="The number of traces that the filter matches.")]
    distinct: Annotated[int, Meta(ge=0, description="The number of keys.")]
    uncounted: Annotated[
        int, Meta(ge=0, description="How many of the traces are not counted: their attributes are not indexed yet.")
    ]


class AttributesResponse(Struct, frozen=True):
    """The keys, the most frequent first; equally frequent ones by name."""

    data: list[AttributeKey]
    meta: AttributesInfo
