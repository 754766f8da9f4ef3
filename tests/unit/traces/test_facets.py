"""Facets of stores with several segments equal those that DuckDB counts in the same segment files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from spanwise import ConfigurationError, Filter, TraceStore
from spanwise._engine import Aggregation, CancellationToken, Query, filter_schema
from spanwise.api.facets import FACET_FIELDS
from spanwise.bench import results
from spanwise.bench.data import row_segments
from spanwise.bench.data.shape import Shape
from spanwise.bench.plan import Effort, Plan
from spanwise.errors import CancelledError, PayloadTooLargeError
from spanwise.traces.search import queries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONDITIONS = {
    "everything": ({}, "true"),
    "one of twenty": ({"op": "EQ", "key": "status", "value": "ERROR"}, "status = 'ERROR'"),
    "most": ({"op": "EQ", "key": "status", "value": "OK"}, "status = 'OK'"),
    "one agent": ({"op": "EQ", "key": "agent_id", "value": "weather-scout"}, "agent_id = 'weather-scout'"),
    "a part of a name": ({"op": "CONTAINS", "key": "name", "value": "er_s"}, "name ILIKE '%er\\_s%' ESCAPE '\\'"),
    "few": ({"op": "STARTSWITH", "key": "run_id", "value": "0a"}, "starts_with(run_id, '0a')"),
    "without a user": ({"op": "NOT", "condition": {"op": "EXISTS", "key": "user_id"}}, "user_id IS NULL"),
    "none": ({"op": "EQ", "key": "name", "value": "nothing"}, "name = 'nothing'"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = Plan(
        Shape(40_000, "none", 7),
        Effort(1, 1, 1, ()),
        tmp_path_factory.mktemp("facets"),
        results.Results(Shape(40_000, "none", 7)),
        lambda _: None,
    )
    with pytest.MonkeyPatch.context() as patch:
        # Four segments, large enough for the bitmaps of frequent values.
        patch.setattr(row_segments, "SEGMENT", 10_000)
        row_segments.build(plan)
    return plan.store


@pytest.fixture(scope="module")
def store(folder: Path) -> Iterator[TraceStore]:
    opened = TraceStore.open_read_only(str(folder))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def database(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE traces AS FROM '{folder}/segments/*/traces.parquet'")
        yield connection


def counted(
    database: duckdb.DuckDBPyConnection, field: str, chosen: str, limit: int, prefix: str = ""
) -> dict[str, Any]:
    counts = f"SELECT {field}, count(*) FROM traces WHERE {chosen} AND starts_with({field}, ?) GROUP BY 1"  # noqa: S608
    found = database.execute(f"{counts} ORDER BY 2 DESC, 1", [prefix]).fetchall()
    missing = database.execute(f"SELECT count(*) FROM traces WHERE {chosen} AND {field} IS NULL").fetchone()  # noqa: S608
    return {
        "values": [{"value": value, "count": count} for value, count in found[:limit]],
        "distinct": len(found),
        "missing": missing[0] if missing else None,
        "truncated": len(found) > limit,
    }


@pytest.mark.parametrize("user", [None, "alice.almeida@example.com"])
@pytest.mark.parametrize("name", CONDITIONS)
def test_facets_are_those_of_duckdb(
    store: TraceStore, database: duckdb.DuckDBPyConnection, name: str, user: str | None
) -> None:
    condition, chosen = CONDITIONS[name]
    compiled = Filter.compile(json.dumps(condition).encode())
    if user is not None:
        compiled, chosen = compiled.restrict("user_id", user), f"{chosen} AND user_id = '{user}'"
    for limit in (3, 1000):
        facets = store.query(queries.facets(compiled, list(FACET_FIELDS), limit))
        found = json.loads(facets.data)
        assert found == {field: counted(database, field, chosen, limit) for field in FACET_FIELDS}
        assert (facets.total,) == database.execute(f"SELECT count(*) FROM traces WHERE {chosen}").fetchone()  # noqa: S608


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize(
    ("field", "prefix"), [("session_id", "sess-a"), ("session_id", "sess-"), ("user_id", "bob."), ("name", "Zzz")]
)
def test_a_prefix_narrows_the_values(
    store: TraceStore, database: duckdb.DuckDBPyConnection, name: str, field: str, prefix: str
) -> None:
    condition, chosen = CONDITIONS[name]
    compiled = Filter.compile(json.dumps(condition).encode())
    facets = store.query(queries.facets(compiled, [field], 20, (field, prefix)))
    assert json.loads(facets.data) == {field: counted(database, field, chosen, 20, prefix)}


def test_the_engine_counts_the_fields_that_the_service_accepts_and_no_other(store: TraceStore) -> None:
    everything = Filter.compile(b"{}")
    for field in json.loads(filter_schema())["fields"]:
        if field["key"] in FACET_FIELDS:
            counted = json.loads(store.query(queries.facets(everything, [field["key"]], 1)).data)
            assert counted[field["key"]]["distinct"] > 0
        else:
            with pytest.raises(ConfigurationError, match=f"got `{field['key']}`"):
                queries.facets(everything, [field["key"]], 1)


def test_a_count_can_be_cancelled_and_says_before_what_it_needs(store: TraceStore) -> None:
    one = queries.facets(Filter.compile(b"{}"), ["name"], 1)
    more = queries.facets(Filter.compile(b"{}"), list(FACET_FIELDS), 1000)
    needed: list[int] = []
    store.query(one, reserve=needed.append)
    store.query(more, reserve=needed.append)
    assert 0 < needed[0] < needed[1]
    cancel = CancellationToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        store.query(one, cancel)


def test_an_exception_while_memory_is_reserved_ends_the_count(store: TraceStore) -> None:
    def reject(needed: int) -> None:
        raise PayloadTooLargeError(f"{needed} bytes")

    for query in (
        queries.facets(Filter.compile(b"{}"), ["name"], 1),
        Query.of_aggregation(Aggregation.compile(b'{"measures": [{"name": "n", "op": "COUNT"}]}')),
    ):
        with pytest.raises(PayloadTooLargeError, match="bytes"):
            store.query(query, reserve=reject)


def test_values_that_are_too_long_together_are_rejected(tmp_path: Path) -> None:
    store = TraceStore.open(str(tmp_path / "store"))
    for number in range(40):
        span = {"traceId": f"{number + 1:032x}", "spanId": "1" * 16, "name": f"{number:02}" + "x" * 15_000}
        times = {"startTimeUnixNano": "1", "endTimeUnixNano": "2"}
        body = {"resourceSpans": [{"scopeSpans": [{"spans": [span | times]}]}]}
        store.ingest(json.dumps(body).encode(), "application/json")
    everything = Filter.compile(b"{}")
    assert json.loads(store.query(queries.facets(everything, ["name"], 30)).data)["name"]["distinct"] == 40
    with pytest.raises(PayloadTooLargeError, match="exceed 512 KiB, expected a smaller limit or fewer fields"):
        store.query(queries.facets(everything, ["name"], 40))
    store.close()
