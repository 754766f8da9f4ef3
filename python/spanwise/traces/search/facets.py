"""Turns a request for facets into the body of its response.

Everything here blocks: it runs in a thread of the search pool, never on the event loop.

See docs/reference/api-counts.md#facets.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct, UnsetType

from spanwise.api.facets import FACET_FIELDS, FacetsInfo
from spanwise.errors import ValidationError
from spanwise.traces.search import queries
from spanwise.traces.search.memory import reserve_in

if TYPE_CHECKING:
    from spanwise._engine import CancellationToken, Filter
    from spanwise.api.facets import FacetsRequest
    from spanwise.fair_budget import Lease
    from spanwise.store_protocol import Store

_KNOWN = ", ".join(f"`{key}`" for key in FACET_FIELDS)
_encoder = msgspec.json.Encoder()


class _Body(Struct, frozen=True):
    data: Raw
    meta: FacetsInfo


def check_fields(request: FacetsRequest) -> None:
    """Checks that every field has a facet and appears once, and that the prefix belongs to a requested field.

    Raises:
        ValidationError: a check failed; the message has the field and its location.
    """
    for index, key in enumerate(request.fields):
        _check(key, f"$.fields[{index}]")
        if key in request.fields[:index]:
            raise ValidationError(f"Expected every field once, got `{key}` twice - at `$.fields[{index}]`")
    if isinstance(request.prefix, UnsetType):
        return
    key = request.prefix.field
    _check(key, "$.prefix.field")
    if key not in request.fields:
        raise ValidationError(f"Expected one of `fields`, got `{key}` - at `$.prefix.field`")


def _check(key: str, path: str) -> None:
    if key not in FACET_FIELDS:
        raise ValidationError(f"Expected one of {_KNOWN}, got `{key}` - at `{path}`")


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
    query = queries.facets(compiled, request.fields, request.limit, prefix, exclude_own=request.exclude_own)
    too_large = "these facets need more memory than `counting_buffer_bytes`; request fewer fields"
    with lease:
        facets = store.query(query, cancel, reserve_in(lease, too_large))
    meta = FacetsInfo(
        search_time_ms=round((time.perf_counter() - started) * 1000, 3),
        matched=facets.total,
        exclude_own_ignored=facets.not_excluded,
    )
    return _encoder.encode(_Body(Raw(facets.data), meta))
