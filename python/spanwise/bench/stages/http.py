"""Times pages with full span trees over HTTP: one client, one connection, up to the last byte of the response."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from spanwise.bench import machine
from spanwise.bench.data.literals import Literals
from spanwise.bench.peers import NEWEST_FIRST, Engine, Query, QueryResult, open_peer
from spanwise.bench.queries import QueryTemplate, bind_literals, query_templates
from spanwise.bench.results import Pages, PageTimes
from spanwise.bench.service.server import Connection, ServerProcess, expect_ok
from spanwise.bench.stages import indexes
from spanwise.bench.stages.check import compare
from spanwise.bench.tables import median, percentile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.bench.plan import Plan

LIMITS = (20, 100)
SCATTERED = "100 scattered trees"
_SEED = 0x477B
_CHECKED = 2
_MIN_RUNS = 20
JSON = "application/json"


class _Item(msgspec.Struct):
    trace_id: str | None = None
    session_id: str | None = None


class _Meta(msgspec.Struct):
    total_count: int


class _SearchResponse(msgspec.Struct):
    data: list[_Item]
    meta: _Meta


_decode = msgspec.json.Decoder(_SearchResponse).decode


def run(plan: Plan) -> None:
    """Times every query with 20 and 100 items per page, and pages of 100 randomly chosen traces.

    Raises:
        WrongResultError: a result differs from that of DuckDB.
        ServerError: the server did not start, or did not respond with status 200.
    """
    load = machine.load()
    indexes.complete(plan)
    rows = plan.rows()
    literals = Literals(rows, plan.shape.seed ^ _SEED)
    reference = open_peer("duckdb", rows)
    measured: list[PageTimes] = []
    with ServerProcess(plan.data_dir) as server, server.connect() as connection:
        for template in query_templates(plan.shape):
            for limit in LIMITS:
                bound = (query._replace(limit=limit) for query in _within(template, limit, literals))
                measured.append(_time(plan, (template.title, limit), bound, (connection, reference)))
                plan.log(f"http: {_line(measured[-1])}")
        measured.append(_time(plan, (SCATTERED, LIMITS[-1]), _scattered(literals), (connection, reference)))
        plan.log(f"http: {_line(measured[-1])}")
    reference.close()
    plan.results.http = Pages(measured, machine.circumstances(load))


def body_of(query: Query) -> bytes:
    """Returns the body of a search request."""
    members: dict[str, object] = {
        "filter": query.filter,
        "group_by": query.group_by,
        "page": query.page,
        "limit": query.limit,
    }
    if query.sort != NEWEST_FIRST:
        members["sort"] = query.sort._asdict()
    return msgspec.json.encode(members)


def _within(template: QueryTemplate, limit: int, literals: Literals) -> Iterator[Query]:
    """Yields queries for pages of `limit` items at about the same offset as pages of 20."""
    for query in bind_literals(template, literals):
        page = 1 + query.offset // limit
        yield query._replace(page=page)


def _scattered(literals: Literals) -> Iterator[Query]:
    """Yields queries for 100 random traces."""
    while True:
        ids = [literals.draw("trace_id") for _ in range(100)]
        yield Query({"op": "IN", "key": "trace_id", "values": ids}, limit=100)


def _time(plan: Plan, name: tuple[str, int], bound: Iterator[Query], clients: tuple[Connection, Engine]) -> PageTimes:
    connection, reference = clients
    total = 0
    for query in islice(bound, _CHECKED):
        reply = _decode(expect_ok(connection.post("/traces/search", body_of(query), JSON)))
        found = QueryResult([item.trace_id or item.session_id or "" for item in reply.data], reply.meta.total_count)
        compare(query, reference.prepare(query)(), "spanwise over HTTP", found)
        total = found.total
    times: list[float] = []
    sizes: list[int] = []
    deadline = time.perf_counter() + plan.effort.query_seconds / len(LIMITS)
    # Twice as many runs as in the comparison, because no other engine has to run.
    for query in islice(bound, 2 * plan.effort.runs):
        if time.perf_counter() > deadline and len(times) >= _MIN_RUNS:
            break
        body = body_of(query)
        begun = time.perf_counter_ns()
        reply_body = connection.post("/traces/search", body, JSON)
        times.append((time.perf_counter_ns() - begun) / 1e6)
        sizes.append(len(expect_ok(reply_body)))
    return PageTimes(*name, total=total, answer_bytes=int(median(sizes)), times=times)


def _line(row: PageTimes) -> str:
    return f"{row.title}, {row.limit} a page: p50 {median(row.times):.2f} ms, p99 {percentile(row.times, 0.99):.2f} ms"
