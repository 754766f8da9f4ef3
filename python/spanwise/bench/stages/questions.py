"""Times generated questions beside scan engines and engines that keep an order or indexes.

Every round has literals of its own, and every answer is compared: ids of the page in order, and the total. The first
round of each question decides which engines go on; its times are those of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spanwise.bench import machine, results
from spanwise.bench.memory import RandomReads, bytes_a_second
from spanwise.bench.peers import PEERS, Query
from spanwise.bench.peers.spanwise import SpanwiseEngine
from spanwise.bench.questions import ORDERED, SCANS, absent, open_peer, page_of
from spanwise.bench.questions.generator import generate
from spanwise.bench.results import QueryTimes, Questions
from spanwise.bench.rounds import OURS, time_in_rounds
from spanwise.bench.scan_bound import ScanBytes
from spanwise.bench.stages.check import compare
from spanwise.bench.tables import median

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from spanwise.bench.peers import Engine
    from spanwise.bench.plan import Plan
    from spanwise.bench.questions import Question

_SEED = 0x0A5C
_MUCH_SLOWER = 2
_SAVED_EVERY = 10
"""Results are saved after so many questions: a long run that is stopped goes on where it was."""


def run(plan: Plan) -> None:
    """Times the questions that have no results yet.

    Raises:
        WrongResultError: an answer differs from that of a peer.
        ServerError: PostgreSQL is installed, and does not start.
    """
    load = machine.load()
    before = plan.results.questions
    timed = before.rows if before else []
    speed = bytes_a_second()
    if before:
        # A run in parts stands for its worst part, and the bound for the best that the memory did in any.
        load, speed = max(load, before.circumstances.load), max(speed, before.memory_bytes_a_second)
    rows = plan.rows()
    scans, random_reads = ScanBytes(rows), RandomReads(plan.shape.seed)
    ours = SpanwiseEngine(plan.store)
    engines, left_out = _open(plan, ours)

    def save(*, is_complete: bool) -> None:
        plan.results.questions = Questions(timed, left_out, machine.circumstances(load), is_complete, speed)
        results.write(plan.folder, plan.results)

    try:
        for number, question in enumerate(generate(plan.effort.questions, rows, plan.shape.seed)):
            if number < len(timed):
                continue
            ours.keep_in_memory()
            read_nanoseconds = random_reads.nanoseconds()
            rng = np.random.default_rng([plan.shape.seed, number, _SEED])
            timed.append(_time(plan, question, engines, _queries(question, engines, rng)))
            timed[-1].random_read_nanoseconds = round(read_nanoseconds, 1)
            timed[-1].scan_bytes = scans.of(Query(question.draw(rng), question.group_by, sort=question.sort))
            plan.log(f"questions: {_line(timed[-1])}")
            if len(timed) % _SAVED_EVERY == 0:
                save(is_complete=False)
    finally:
        for engine in engines.values():
            engine.close()
    save(is_complete=True)


def _open(plan: Plan, ours: SpanwiseEngine) -> tuple[dict[str, Engine], dict[str, str]]:
    """Opens the other engines that can be had here; returns all, and why others are left out."""
    chosen = (*plan.effort.peers, *(ORDERED if plan.effort.peers == PEERS else ()))
    reasons = {name: absent(name) for name in chosen}
    left_out = {name: reason for name, reason in reasons.items() if reason}
    engines: dict[str, Engine] = {OURS: ours}
    rows = plan.rows()
    for name in chosen:
        if name in left_out:
            plan.log(f"questions: {left_out[name]}, and left out")
        else:
            plan.log(f"questions: loading {name}")
            engines[name] = open_peer(name, rows, plan.folder)
    return engines, left_out


def _queries(question: Question, engines: dict[str, Engine], rng: np.random.Generator) -> Iterator[Query]:
    """Yields an endless series of queries with fresh literals.

    A page other than the first is found by the total of a peer: had we answered before, we might know the rows.
    """
    counting = next((engine for name, engine in engines.items() if name != OURS), engines[OURS])
    while True:
        user = str(question.user(rng)) if question.user else None
        query = Query(question.draw(rng), question.group_by, sort=question.sort, user=user)
        if question.depth != "first":
            total = counting.prepare(query)().total
            query = query._replace(page=page_of(question.depth, total, query.limit))
        yield query


def _time(plan: Plan, question: Question, engines: dict[str, Engine], queries: Iterator[Query]) -> QueryTimes:
    """Times one question; after the first round only engines that may be the fastest of their kind go on."""
    once = plan.effort._replace(runs=1)
    times, _ = time_in_rounds(once, engines, queries, compare, warmup_runs=0)
    near = {OURS, *(name for kind in (SCANS, ORDERED) for name in _near(kind, times))}
    left = {name: engine for name, engine in engines.items() if name in near}
    more, found = time_in_rounds(plan.effort, left, queries, compare, warmup_runs=0)
    times |= more
    return QueryTimes("question", question.title, question.depth, question.group_by, 1, found.total, times)


def _near(kind: Collection[str], times: dict[str, list[float]]) -> list[str]:
    """Returns the engines of a kind that are not much slower than the fastest of them."""
    known = {name: times[name][0] for name in kind if name in times}
    return [name for name, first in known.items() if first <= _MUCH_SLOWER * min(known.values())]


def _line(row: QueryTimes) -> str:
    medians = ", ".join(f"{name} {median(times):.3f}" for name, times in row.times.items())
    return f"{row.title}: {row.total:,} found, {len(row.times[OURS])} runs, medians in ms: {medians}"
