"""Times questions about contents: asked for the first time, and again.

The engine keeps which rows of a segment a filter matches. So that it has nothing kept, the store is opened anew for
every round; its files are in the cache of the system by then, and its indexes are open. In a round each question is
asked once, at once again, and for its second page; then the peers are asked, in rotating order.
"""

from __future__ import annotations

import gc
import time
from contextlib import closing
from typing import TYPE_CHECKING

from spanwise.bench.contents import MAX_PEER_TRACES, Contents, compare, installed_peers, open_peer, questions
from spanwise.bench.contents.literals import ContentLiterals
from spanwise.bench.contents.spanwise import SpanwiseEngine
from spanwise.bench.contents.windows import windows
from spanwise.bench.data import rows
from spanwise.bench.data.tables import TableWriter
from spanwise.bench.results import Asked
from spanwise.bench.rounds import OURS
from spanwise.bench.stages.indexes import open_indexed
from spanwise.bench.tables import median
from spanwise.errors import PayloadTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanwise.bench.contents import Engine, Question, Subject
    from spanwise.bench.data.tables import Tables
    from spanwise.bench.peers import QueryResult
    from spanwise.bench.plan import Plan

    Expected = dict[str, QueryResult]
    """The answers by the titles of the questions."""

_MIN_ROUNDS = 3
_KINDS: dict[Subject, tuple[str, ...]] = {
    "texts": ("spans", "texts"),
    "spans": ("spans",),
    "attributes": ("spans", "attributes"),
}
"""The indexes that answer the questions about a subject."""


def ask(plan: Plan, about: Subject) -> list[Asked]:
    """Compares the answers to all questions with those of DuckDB, then times them.

    What no peer can hold is compared in parts of the time.

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
        timed = [Asked(question.title, question.kind, None, [], [], [], {}) for question in asked]
        with closing(_open(plan, about)) as ours:
            if "duckdb" in peers:
                expected = {question.title: peers["duckdb"].prepare(question)() for question in asked}
            else:
                expected = {}
                _compare_in_windows(plan, ours, writer, asked)
            _check(ours, asked, expected, timed)
        begun = time.perf_counter()
        for number in range(plan.effort.runs):
            if number >= _MIN_ROUNDS and time.perf_counter() - begun > plan.effort.query_seconds * len(asked):
                break
            plan.log(f"{about}: round {number + 1}")
            with closing(_open(plan, about)) as ours:
                _round(plan, ours, list(zip(asked, timed, strict=True)), peers, expected)
    finally:
        for peer in peers.values():
            peer.close()
    for row in timed:
        plan.log(f"{about}: {_line(row)}")
    return timed


def _open(plan: Plan, about: Subject) -> SpanwiseEngine:
    return SpanwiseEngine(open_indexed(plan.store, _KINDS[about]))


def _contents(plan: Plan, writer: TableWriter, chunks: Sequence[int]) -> Contents:
    def tables() -> Iterator[Tables]:
        return (writer.chunk(chunk) for chunk in chunks)

    return Contents(plan.rows(), tables, plan.folder)


def _compare_in_windows(plan: Plan, ours: SpanwiseEngine, writer: TableWriter, asked: list[Question]) -> None:
    """Compares the answers about some parts of the time with those of DuckDB."""
    for window in windows(plan.shape):
        plan.log(f"comparing from {window.begin} to {window.end}")
        with closing(open_peer("duckdb", _contents(plan, writer, window.chunks))) as peer:
            for question in map(window.narrowed, asked):
                compare(question, peer.prepare(question)(), OURS, ours.prepare(question)())


def _check(ours: SpanwiseEngine, asked: list[Question], expected: Expected, timed: list[Asked]) -> None:
    """Compares our answers, and notes how many traces they find. A question that is rejected has no answer.

    What is not expected yet is what the first answer says: later ones have to be the same.
    """
    for question, row in zip(asked, timed, strict=True):
        try:
            found = ours.prepare(question)()
        except PayloadTooLargeError:
            continue
        compare(question, expected.setdefault(question.title, found), OURS, found)
        row.total = found.total


def _round(
    plan: Plan,
    ours: SpanwiseEngine,
    asked: list[tuple[Question, Asked]],
    peers: dict[str, Engine],
    expected: Expected,
) -> None:
    """Asks every question of every engine."""
    gc.collect()
    gc.disable()
    try:
        for number, (question, row) in enumerate(asked):
            if row.total is not None:
                for times in (row.first, row.again):
                    elapsed, found = _timed(ours.prepare(question))
                    compare(question, expected[question.title], OURS, found)
                    times.append(elapsed)
                row.next_page.append(_timed(ours.prepare(question, page=2))[0])
            names = list(peers)
            rotation = (number + len(row.first)) % max(1, len(names))
            for name in names[rotation:] + names[:rotation]:
                _ask_peer(plan, (name, peers[name]), (question, row), expected[question.title])
    finally:
        gc.enable()


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
