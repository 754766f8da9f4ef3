"""Aggregations, facets and attribute keys over shards equal a single store's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from spanwise import Filter, TraceStore
from spanwise.api.facets import FACET_FIELDS
from spanwise.traces import Aggregation, Query
from spanwise.traces.search import queries
from support.clients.otlp import captures
from support.in_process.stores import EVERYTHING, open_sharded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.cluster.store import ShardedStore

FILTERS = [
    EVERYTHING,
    Filter.compile(b'{"op": "EQ", "key": "status", "value": "ERROR"}'),
    Filter.compile(b'{"op": "CONTAINS", "key": "input", "value": "weather"}'),
    Filter.compile(b'{"op": "EXISTS", "key": "session_id"}').restrict("user_id", "ann"),
]
MEASURES = [
    {"name": "count", "op": "COUNT"},
    {"name": "mean", "op": "AVG", "key": "duration_ms"},
    {"name": "sessions", "op": "COUNT_DISTINCT", "key": "session_id"},
    {"name": "p95", "op": "QUANTILE", "key": "duration_ms", "q": 0.95},
    {"name": "cost", "op": "SUM", "key": "cost"},
    {"name": "tokens", "op": "HISTOGRAM", "key": "total_tokens", "scale": "log", "bins": 8},
    {
        "name": "failed",
        "op": "MAX",
        "key": "total_tokens",
        "where": {"op": "SPAN", "where": {"op": "EQ", "key": "status", "value": "ERROR"}},
    },
]
AGGREGATIONS = [
    {"measures": MEASURES},
    {"measures": MEASURES, "by": [{"key": "agent_id", "limit": 3}], "time": {"buckets": 12}},
    {"measures": MEASURES, "by": [{"key": "status"}, {"key": "user_id", "limit": 2}]},
    {"measures": MEASURES[:1], "by": [{"key": "model", "limit": 2}], "time": {"buckets": 3}},
]


@pytest.fixture(scope="module", params=[1, 4, 7])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShardedStore]:
    store = open_sharded(tmp_path_factory.mktemp("many"), request.param)
    for capture in captures():
        store.ingest(capture.body, capture.content_type, capture.content_encoding)
    yield store
    store.close()


@pytest.mark.parametrize("chosen", range(len(AGGREGATIONS)))
@pytest.mark.parametrize("owner", [None, "ann", "nobody"])
def test_aggregations(one: TraceStore, many: ShardedStore, chosen: int, owner: str | None) -> None:
    aggregation = Aggregation.compile(json.dumps(AGGREGATIONS[chosen]).encode())
    if owner is not None:
        aggregation = aggregation.restrict("user_id", owner)
    query, needed = Query.of_aggregation(aggregation), list[int]()
    found, expected = many.query(query, reserve=needed.append), one.query(query)
    assert needed[0] > 0
    assert (found.data, found.total) == (expected.data, expected.total)


@pytest.mark.parametrize("chosen", range(len(FILTERS)))
def test_facets_and_keys(one: TraceStore, many: ShardedStore, chosen: int) -> None:
    compiled, fields = FILTERS[chosen], list(FACET_FIELDS)
    for prefix, exclude_own in [(None, False), (("name", "W"), True)]:
        query, needed = queries.facets(compiled, fields, 5, prefix, exclude_own=exclude_own), list[int]()
        expected, found = (store.query(query, reserve=needed.append) for store in (one, many))
        assert all(size > 0 for size in needed)
        assert found.data == expected.data
        assert (found.total, found.not_excluded) == (expected.total, expected.not_excluded)
    keys = [store.query(queries.attribute_keys(compiled, 20, "attributes.")) for store in (one, many)]
    assert len({(own.data, own.distinct, own.total) for own in keys}) == 1
