"""Aggregations of the engine equal those of DuckDB over the same rows."""

from __future__ import annotations

import json
import random
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from spanwise import TraceStore
from spanwise._engine import Aggregation, CancellationToken, Filter, Query
from spanwise.api.aggregates import AggregateRequest
from spanwise.errors import PayloadTooLargeError, UnavailableError
from spanwise.fair_budget import FairBudget
from spanwise.traces.search.aggregate import aggregate_body, compile_aggregation

duckdb = pytest.importorskip("duckdb")

if TYPE_CHECKING:
    from collections.abc import Iterator

TRACES = 3_000
START = 1_700_000_000 * 10**9
HOUR = 3_600 * 10**9
FILTERS = {
    "everything": ({}, "true"),
    "one agent": ({"op": "EQ", "key": "agent_id", "value": "agent-1"}, "agent_id = 'agent-1'"),
    "a text": ({"op": "CONTAINS", "key": "session_id", "value": "7"}, "session_id LIKE '%7%'"),
}
NUMBERS = ["duration_ms", "input_tokens"]


def export(numbers: range) -> bytes:
    chance = random.Random(numbers.start)
    spans = [
        {
            "traceId": f"{number + 1:032x}",
            "spanId": "a" * 16,
            "name": "run",
            "startTimeUnixNano": str(started := START + chance.randrange(48) * HOUR // 7),
            "endTimeUnixNano": str(started + int(10 ** chance.uniform(0, 7)) * 1_000_000),
            "status": {"code": 1 + (chance.random() < 0.1)},
            "attributes": [
                {"key": "openinference.span.kind", "value": {"stringValue": "AGENT"}},
                {"key": "agno.agent.id", "value": {"stringValue": f"agent-{int(chance.expovariate(0.5))}"}},
                {"key": "session.id", "value": {"stringValue": f"session-{chance.randrange(400)}"}},
            ],
        }
        for number in numbers
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TraceStore]:
    opened = TraceStore.open(str(tmp_path_factory.mktemp("aggregated") / "traces"))
    for first in range(0, TRACES, 500):
        opened.ingest(export(range(first, first + 500)), "application/json")
        if first % 1_000 == 0:
            opened.flush()
    yield opened
    opened.close()


def asked(store: TraceStore, **body: Any) -> dict[str, Any]:
    query = Query.of_aggregation(Aggregation.compile(json.dumps(body).encode()))
    found: dict[str, Any] = json.loads(store.query(query).data)
    return found


@pytest.mark.parametrize("name", FILTERS)
def test_groups_by_time_equal_those_of_duckdb(store: TraceStore, name: str) -> None:
    expression, condition = FILTERS[name]
    traces = duckdb.arrow(store.scan(Filter.compile(b"{}")))  # noqa: F841  # the query names it
    measures = [
        {"name": "count", "op": "COUNT"},
        {"name": "failed", "op": "COUNT", "where": {"op": "EQ", "key": "status", "value": "ERROR"}},
        {"name": "sessions", "op": "COUNT_DISTINCT", "key": "session_id"},
        {"name": "sum", "op": "SUM", "key": "duration_ms"},
        {"name": "mean", "op": "AVG", "key": "duration_ms"},
        {"name": "least", "op": "MIN", "key": "duration_ms"},
        {"name": "greatest", "op": "MAX", "key": "duration_ms"},
        *({"name": f"q{q}", "op": "QUANTILE", "key": "duration_ms", "q": q} for q in (0.0, 0.5, 0.95, 1.0)),
    ]
    columns = """count(*), count(*) FILTER (status = 'ERROR'), count(DISTINCT session_id), sum(duration_ms)::BIGINT,
        avg(duration_ms), min(duration_ms), max(duration_ms), quantile_cont(duration_ms, 0.0),
        quantile_cont(duration_ms, 0.5), quantile_cont(duration_ms, 0.95), quantile_cont(duration_ms, 1.0)"""
    found = asked(
        store, filter=expression, time={"buckets": 10}, by=[{"key": "agent_id", "limit": 100}], measures=measures
    )
    interval = found["time"]["interval_ms"]
    query = f"""SELECT agent_id, epoch_ms(start_time) // {interval} AS bucket, {columns}
        FROM traces WHERE {condition} GROUP BY GROUPING SETS ((agent_id), (agent_id, bucket))"""  # noqa: S608
    rows = {(row[0], row[1]): row[2:] for row in duckdb.sql(query).fetchall()}
    shown = {}
    for group in found["groups"]:
        agent = group["by"]["agent_id"]
        shown[agent, None] = tuple(group["total"].values())
        for index, start in enumerate(found["time"]["starts"]):
            values = tuple(series[index] for series in group["series"].values())
            if values[0]:
                bucket = int(datetime.fromisoformat(start).timestamp() * 1_000) // interval
                shown[agent, bucket] = values
    assert shown.keys() == rows.keys()
    for place, row in rows.items():
        assert shown[place] == pytest.approx(row, rel=1e-12), place


class TestMemory:
    """The memory of an aggregation is taken from the caller's share before it runs."""

    request = msgspec.json.decode(b'{"measures": [{"name": "n", "op": "COUNT"}]}', type=AggregateRequest)

    def body(self, store: TraceStore, budget: FairBudget) -> bytes:
        return aggregate_body(store, compile_aggregation(self.request), budget.hold(), CancellationToken(), 0.0)

    def test_it_is_released_at_the_end(self, store: TraceStore) -> None:
        budget = FairBudget(1 << 20, "no memory", 1 << 20)
        assert json.loads(self.body(store, budget))["data"]["groups"][0]["total"] == {"n": TRACES}
        assert budget.used == 0

    def test_one_that_needs_more_than_there_is_for_all_is_too_large(self, store: TraceStore) -> None:
        budget = FairBudget(16, "no memory", 16)
        with pytest.raises(PayloadTooLargeError, match="counting_buffer_bytes"):
            self.body(store, budget)

    def test_one_that_finds_the_memory_in_use_is_unavailable(self, store: TraceStore) -> None:
        budget = FairBudget(1 << 20, "no memory", 1 << 20)
        with budget.take((1 << 20) - 16), pytest.raises(UnavailableError, match="no memory"):
            self.body(store, budget)
