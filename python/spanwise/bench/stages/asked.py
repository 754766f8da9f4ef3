"""Times questions about contents: asked for the first time, and again.

The engine keeps which rows of a segment a filter matches. So that it has nothing kept, the store is opened anew for
every round; its files are in the cache of the system by then, and its indexes are open. In a round each question is
asked once, at once again, and for its second page; then the peers are asked, in rotating order.
"""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from spanwise.bench.contents import LIMIT, MAX_PEER_TRACES, Contents, compare, installed_peers, open_peer, questions
from spanwise.bench.contents.literals import ContentLiterals
from spanwise.bench.contents.spanwise import SpanwiseEngine
from spanwise.bench.data import rows
from spanwise.bench.data.tables import TableWriter
from spanwise.bench.peers import QueryResult
from spanwise.bench.results import Asked
from spanwise.bench.rounds import OURS
from spanwise.bench.stages.indexes import open_indexed
from spanwise.bench.tables import median
from spanwise.errors import PayloadTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanwise.bench.contents import Engine, Question, Subject
    from spanwise.bench.data.tables import Tables
    from spanwise.bench.plan import Plan

    Expected = dict[str, QueryResult]

_MIN_ROUNDS = 3
_CHUNKS_AT_ONCE = 25
"""So many chunks are compared at a time where no peer could hold all of them."""


def ask(plan: Plan, about: Subject) -> list[Asked]:
    """Compares the answers to all questions with those of DuckDB, then times them.

    Raises:
        WrongResultError: an answer differs from that of DuckDB.
    """
    writer = TableWriter(plan.shape)
    asked = questions(about, ContentLiterals(writer.chunk(0).texts, plan.shape.seed))
    peers: dict[str, Engine] = {}
    held = plan.effort.peers if plan.shape.traces <= MAX_PEER_TRACES else ()
    try:
        for name in installed_peers(about, held, plan.log):
            plan.log(f"{about}: loading {name}")
            peers[name] = open_peer(name, _contents(plan, writer, range(rows.chunks(plan.shape))))
        plan.log(f"{about}: comparing {len(asked)} answers")
        expected = _expected(plan, writer, asked, peers)
        timed = [Asked(question.title, question.kind, None, [], [], [], {}) for question in asked]
        _check(plan, asked, expected, timed)
        begun = time.perf_counter()
        for number in range(plan.effort.runs):
            if number >= _MIN_ROUNDS and time.perf_counter() - begun > plan.effort.query_seconds * len(asked):
                break
            plan.log(f"{about}: round {number + 1}")
            _round(plan, list(zip(asked, timed, strict=True)), peers, expected)
    finally:
        for peer in peers.values():
            peer.close()
    for row in timed:
        plan.log(f"{about}: {_line(row)}")
    return timed


def _contents(plan: Plan, writer: TableWriter, chunks: range) -> Contents:
    def tables() -> Iterator[Tables]:
        return (writer.chunk(chunk) for chunk in chunks)

    return Contents(plan.rows(), tables, plan.folder)


def _expected(plan: Plan, writer: TableWriter, asked: list[Question], peers: dict[str, Engine]) -> Expected:
    """Returns the answers of DuckDB, which holds as many traces at a time as fit into memory."""
    if "duckdb" in peers:
        return {question.title: peers["duckdb"].prepare(question)() for question in asked}
    newest_first = plan.rows()["trace_id"]
    found = {question.title: QueryResult([], 0) for question in asked}
    every = range(rows.chunks(plan.shape))
    for first in every[::_CHUNKS_AT_ONCE]:
        engine = open_peer("duckdb", _contents(plan, writer, every[first : first + _CHUNKS_AT_ONCE]))
        for question in asked:
            before, own = found[question.title], engine.prepare(question)()
            ids = newest_first.filter(pc.is_in(newest_first, pa.array([*before.ids, *own.ids], pa.string())))
            found[question.title] = QueryResult(ids[:LIMIT].to_pylist(), before.total + own.total)
        engine.close()
    return found


def _check(plan: Plan, asked: list[Question], expected: Expected, timed: list[Asked]) -> None:
    """Compares our answers, and notes how many traces they find. A question that is rejected has no answer."""
    spanwise = SpanwiseEngine(open_indexed(plan.store))
    try:
        for question, row in zip(asked, timed, strict=True):
            try:
                found = spanwise.prepare(question)()
            except PayloadTooLargeError:
                continue
            compare(question, expected[question.title], OURS, found)
            row.total = found.total
    finally:
        spanwise.close()


def _round(plan: Plan, asked: list[tuple[Question, Asked]], peers: dict[str, Engine], expected: Expected) -> None:
    """Asks every question of every engine."""
    spanwise = SpanwiseEngine(open_indexed(plan.store))
    gc.collect()
    gc.disable()
    try:
        for number, (question, row) in enumerate(asked):
            wanted = expected[question.title]
            if row.total is not None:
                for times in (row.first, row.again):
                    elapsed, found = _timed(spanwise.prepare(question))
                    compare(question, wanted, OURS, found)
                    times.append(elapsed)
                row.next_page.append(_timed(spanwise.prepare(question, page=2))[0])
            names = list(peers)
            rotation = (number + len(row.first)) % max(1, len(names))
            for name in names[rotation:] + names[:rotation]:
                _ask_peer(plan, (name, peers[name]), (question, row), wanted)
    finally:
        gc.enable()
        spanwise.close()


def _ask_peer(plan: Plan, peer: tuple[str, Engine], asked: tuple[Question, Asked], wanted: QueryResult) -> None:
    """Asks a peer, unless it cannot answer or has had its time."""
    (name, engine), (question, row) = peer, asked
    if not engine.answers(question):
        return
    times = row.peers.setdefault(name, [])
    if len(times) >= _MIN_ROUNDS and sum(times) > plan.effort.query_seconds * 1_000:
        return
    elapsed, found = _timed(engine.prepare(question))
    compare(question, wanted, name, found)
    times.append(elapsed)


def _timed(execute: Callable[[], QueryResult]) -> tuple[float, QueryResult]:
    """Returns the milliseconds that it took, and the answer."""
    begun = time.perf_counter_ns()
    found = execute()
    return (time.perf_counter_ns() - begun) / 1e6, found


def _line(row: Asked) -> str:
    if row.total is None:
        return f"{row.title}: rejected"
    medians = ", ".join(f"{name} {median(times):.3f}" for name, times in row.peers.items())
    ours = f"first {median(row.first):.3f}, again {median(row.again):.3f}, next page {median(row.next_page):.3f}"
    return f"{row.title}: {row.total:,} traces, {len(row.first)} runs, medians in ms: {ours}; {medians}"
