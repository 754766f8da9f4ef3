"""Times pages with full span trees over HTTP: one client, one connection, until the last byte of the answer is read."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from spanwise.bench import machine
from spanwise.bench.literals import Literals
from spanwise.bench.peers import Answer, Engine, Question, open_peer
from spanwise.bench.queries import Query, queries, questions
from spanwise.bench.results import PageRow, Pages
from spanwise.bench.serving import Connection, Server, expect_ok
from spanwise.bench.stages.check import compare
from spanwise.bench.tables import median, share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.bench.plan import Plan

LIMITS = (20, 100)
SCATTERED = "100 scattered trees"
_SEED = 0x477B
_CHECKED = 2
_LEAST_RUNS = 20
JSON = "application/json"


class _Item(msgspec.Struct):
    trace_id: str | None = None
    session_id: str | None = None


class _Meta(msgspec.Struct):
    total_count: int


class _Answer(msgspec.Struct):
    data: list[_Item]
    meta: _Meta


_decode = msgspec.json.Decoder(_Answer).decode


def run(plan: Plan) -> None:
    """Times every query at 20 and at 100 a page, and pages of 100 traces that were drawn by their ids.

    Raises:
        WrongAnswerError: an answer differs from that of DuckDB.
        ServerError: the server did not start, or an answer was not 200.
    """
    load = machine.load()
    rows = plan.rows()
    literals = Literals(rows, plan.shape.seed ^ _SEED)
    judge = open_peer("duckdb", rows)
    measured: list[PageRow] = []
    with Server(plan.data_dir) as server, server.connect() as connection:
        for query in queries(plan.shape):
            for limit in LIMITS:
                asked = (question._replace(limit=limit) for question in _within(query, limit, literals))
                measured.append(_time(plan, (query.title, limit), asked, (connection, judge)))
                plan.say(f"http: {_line(measured[-1])}")
        measured.append(_time(plan, (SCATTERED, LIMITS[-1]), _scattered(literals), (connection, judge)))
        plan.say(f"http: {_line(measured[-1])}")
    judge.close()
    plan.results.http = Pages(measured, machine.circumstances(load))


def body_of(question: Question) -> bytes:
    """Returns the body of a search."""
    asked = {"filter": question.filter, "group_by": question.group_by, "page": question.page, "limit": question.limit}
    return msgspec.json.encode(asked)


def _within(query: Query, limit: int, literals: Literals) -> Iterator[Question]:
    """Yields questions for pages of `limit` that begin about where those of 20 do."""
    for question in questions(query, literals):
        page = 1 + question.offset // limit
        yield question._replace(page=page)


def _scattered(literals: Literals) -> Iterator[Question]:
    """Yields questions for 100 traces from all over the store."""
    while True:
        ids = [literals.draw("trace_id") for _ in range(100)]
        yield Question({"op": "IN", "key": "trace_id", "values": ids}, limit=100)


def _time(plan: Plan, name: tuple[str, int], asked: Iterator[Question], between: tuple[Connection, Engine]) -> PageRow:
    connection, judge = between
    total = 0
    for question in islice(asked, _CHECKED):
        reply = _decode(expect_ok(connection.post("/traces/search", body_of(question), JSON)))
        found = Answer([item.trace_id or item.session_id or "" for item in reply.data], reply.meta.total_count)
        compare(question, judge.prepare(question)(), "spanwise over HTTP", found)
        total = found.total
    times: list[float] = []
    sizes: list[int] = []
    deadline = time.perf_counter() + plan.effort.query_seconds / len(LIMITS)
    # Twice as many runs as beside the peers: nobody has to be waited for.
    for question in islice(asked, 2 * plan.effort.runs):
        if time.perf_counter() > deadline and len(times) >= _LEAST_RUNS:
            break
        body = body_of(question)
        begun = time.perf_counter_ns()
        reply_body = connection.post("/traces/search", body, JSON)
        times.append((time.perf_counter_ns() - begun) / 1e6)
        sizes.append(len(expect_ok(reply_body)))
    return PageRow(*name, total=total, answer_bytes=int(median(sizes)), times=times)


def _line(row: PageRow) -> str:
    return f"{row.title}, {row.limit} a page: p50 {median(row.times):.2f} ms, p99 {share(row.times, 0.99):.2f} ms"
