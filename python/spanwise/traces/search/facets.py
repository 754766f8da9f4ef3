"""The shapes of facets, and the function that turns a request for them into its response.

Everything here blocks: it runs in a thread of the search pool, never on the event loop.

See docs/reference/api-counts.md#facets.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from spanwise._engine import filter_schema
from spanwise.errors import PayloadTooLargeError, ValidationError
from spanwise.filter_models import FilterSchema

if TYPE_CHECKING:
    from spanwise._engine import CancellationToken, Filter
    from spanwise.fair_budget import Lease
    from spanwise.traces.store_protocol import Store

FACET_FIELDS = tuple(
    field.key
    for field in msgspec.json.decode(filter_schema(), type=FilterSchema).fields
    if field.type in {"enum", "string"} and field.key != "trace_id"
)
"""The fields whose values can be counted: texts except the trace id, whose values are all different."""
_KNOWN = ", ".join(f"`{key}`" for key in FACET_FIELDS)
_encoder = msgspec.json.Encoder()


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
    filter: Annotated[
        Raw,
        Meta(
            description="A filter expression; null or `{}` matches everything.",
            extra_json_schema={"anyOf": [{"type": "object"}, {"type": "null"}]},
        ),
    ] = field(default_factory=lambda: Raw(b"null"))
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
    """What is said of all facets together."""

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


class _Body(Struct, frozen=True):
    data: Raw
    meta: FacetsInfo


def check_fields(request: FacetsRequest) -> None:
    """Checks that every field has a facet and appears once, and that the prefix belongs to a requested field.

    Raises:
        ValidationError: a check failed; the message has the field and its location.
    """
    for place, key in enumerate(request.fields):
        _check(key, f"$.fields[{place}]")
        if key in request.fields[:place]:
            raise ValidationError(f"Expected every field once, got `{key}` twice - at `$.fields[{place}]`")
    if isinstance(request.prefix, UnsetType):
        return
    key = request.prefix.field
    _check(key, "$.prefix.field")
    if key not in request.fields:
        raise ValidationError(f"Expected one of `fields`, got `{key}` - at `$.prefix.field`")


def _check(key: str, place: str) -> None:
    if key not in FACET_FIELDS:
        raise ValidationError(f"Expected one of {_KNOWN}, got `{key}` - at `{place}`")


def facets_body(
    store: Store, compiled: Filter, request: FacetsRequest, cancel: CancellationToken, lease: Lease
) -> bytes:
    """Returns the JSON body of counted facets: `{"data": {...}, "meta": {...}}`.

    Args:
        store: the store whose traces are counted.
        compiled: the filter, already restricted to the caller's traces.
        request: the facets to count, validated by `check_fields`.
        cancel: cancels the count from another thread.
        lease: takes the memory for counting from the caller's share.

    Raises:
        PayloadTooLargeError: counting needs more memory than the budget of all callers.
        UnavailableError: counting needs more memory than the caller has left.
        CancelledError: `cancel` was used.
    """
    started = time.perf_counter()
    prefix = None if isinstance(request.prefix, UnsetType) else (request.prefix.field, request.prefix.text)
    plan = store.plan_facets(compiled, request.fields, request.limit, prefix, request.exclude_own)
    if plan.bytes > lease.capacity:
        raise PayloadTooLargeError("these facets need more memory than `counting_buffer_bytes`; request fewer fields")
    with lease:
        lease.add(plan.bytes)
        facets = plan.run(cancel)
    meta = FacetsInfo(
        search_time_ms=round((time.perf_counter() - started) * 1000, 3),
        matched=facets.matched,
        exclude_own_ignored=facets.not_excluded,
    )
    return _encoder.encode(_Body(Raw(facets.data), meta))
