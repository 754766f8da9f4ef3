"""Turns an aggregation request into the body of its response.

See docs/reference/api-counts.md#aggregate.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

from spanwise._engine import Aggregation, Query
from spanwise.api.aggregates import AggregateMeta
from spanwise.traces.search.memory import reserve_in
from spanwise.traces.search.page import expect_object_or_null

if TYPE_CHECKING:
    from spanwise._engine import CancellationToken
    from spanwise.api.aggregates import AggregateRequest
    from spanwise.fair_budget import Lease
    from spanwise.store_protocol import Store

_encoder = msgspec.json.Encoder()


class _Body(Struct, frozen=True):
    data: Raw
    meta: AggregateMeta


def compile_aggregation(request: AggregateRequest) -> Aggregation:
    """Returns the compiled form of a request.

    Raises:
        ValidationError: a member is invalid; the message ends with its location.
        FilterError: a filter is invalid.
    """
    expect_object_or_null(request.filter, "$.filter")
    for index, measure in enumerate(request.measures):
        expect_object_or_null(measure.condition, f"$.measures[{index}].where")
    return Aggregation.compile(_encoder.encode(request))


def aggregate_body(
    store: Store, compiled: Aggregation, memory: Lease, cancel: CancellationToken, started: float
) -> bytes:
    """Returns the JSON body of an aggregation: `{"data": {...}, "meta": {...}}`.

    Args:
        store: the store to read.
        compiled: the aggregation, already restricted to the caller's traces.
        memory: the caller's lease on the counting budget; the memory of this aggregation is added to it.
        cancel: cancels the aggregation from another thread.
        started: its start, by `time.perf_counter`; the body reports the time since then.

    Raises:
        PayloadTooLargeError: the aggregation needs more memory than the whole budget.
        UnavailableError: the memory is in use.
        CancelledError: `cancel` was used.
    """
    too_large = (
        "the aggregation needs more memory than `counting_buffer_bytes`; narrow the filter or time range, "
        "or use fewer groups, buckets or measures"
    )
    with memory:
        result = store.query(Query.of_aggregation(compiled), cancel, reserve_in(memory, too_large))
    meta = AggregateMeta(round((time.perf_counter() - started) * 1000, 3), result.total)
    return _encoder.encode(_Body(Raw(result.data), meta))
