"""The shapes of attribute keys, and the function that turns a request for them into its response.

Everything here blocks: it runs in a thread of the search pool, never on the event loop.

See docs/reference/api-counts.md#attributes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct

from spanwise.models import StoreQuery, Text

if TYPE_CHECKING:
    from spanwise._engine import CancellationToken, Filter
    from spanwise.traces.store_protocol import Store

_encoder = msgspec.json.Encoder()


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
    """What is said of all keys together."""

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


class _Body(Struct, frozen=True):
    data: Raw
    meta: AttributesInfo


def attributes_body(
    store: Store, compiled: Filter, wanted: tuple[str, int], cancel: CancellationToken, started: float
) -> bytes:
    """Returns the JSON body of counted keys: `{"data": [...], "meta": {...}}`.

    Args:
        store: the store whose traces are counted.
        compiled: the filter, already restricted to the caller's traces.
        wanted: the prefix of the keys, which may be empty, and their number, 1 to 1,000.
        cancel: cancels the count from another thread.
        started: the start of the request, by `time.perf_counter`.

    Raises:
        PayloadTooLargeError: too many document checks are needed.
        CancelledError: `cancel` was used.
    """
    prefix, limit = wanted
    keys = store.attribute_keys(compiled, limit, prefix, cancel)
    meta = AttributesInfo(
        search_time_ms=round((time.perf_counter() - started) * 1000, 3),
        matched=keys.matched,
        distinct=keys.distinct,
        uncounted=keys.uncounted,
    )
    return _encoder.encode(_Body(Raw(keys.data), meta))
