"""Turns a request for attribute keys into the body of its response.

Everything here blocks: it runs in a thread of the search pool, never on the event loop.

See docs/reference/api-counts.md#attributes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

from spanwise.api.attributes import AttributesInfo
from spanwise.traces.search import queries

if TYPE_CHECKING:
    from spanwise._engine import CancellationToken, Filter
    from spanwise.store_protocol import Store

_encoder = msgspec.json.Encoder()


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
    keys = store.query(queries.attribute_keys(compiled, limit, prefix), cancel)
    meta = AttributesInfo(
        search_time_ms=round((time.perf_counter() - started) * 1000, 3),
        matched=keys.total,
        distinct=keys.distinct,
        uncounted=keys.uncounted,
    )
    return _encoder.encode(_Body(Raw(keys.data), meta))
