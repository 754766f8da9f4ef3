"""Times aggregations on all engines that compute exact quantiles, one after another in each round.

A timed run starts with the question in the form that the engine takes, and ends with the cells as Python numbers. Every
answer is compared with that of DuckDB, or else of the first peer.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

from spanwise.bench import machine
from spanwise.bench.aggregates import compare, installed_peers, open_peer, questions
from spanwise.bench.aggregates.duckdb import open_files
from spanwise.bench.aggregates.spanwise import SpanwiseEngine
from spanwise.bench.results import Engines, QueryTimes
from spanwise.bench.rounds import OURS, time_in_rounds
from spanwise.bench.tables import median

if TYPE_CHECKING:
    from spanwise.bench.aggregates import Engine, Question
    from spanwise.bench.plan import Plan


def run(plan: Plan) -> None:
    """Times all questions.

    Raises:
        WrongResultError: an answer differs from that of a peer.
    """
    load = machine.load()
    if plan.shape.documents == "none":
        _check(plan)
    engines: dict[str, Engine] = {OURS: SpanwiseEngine(plan.store)}
    peers = installed_peers(plan.effort.peers) if plan.effort.peers else []
    rows = plan.rows() if peers else None
    for name in peers:
        plan.log(f"aggregate: loading {name}")
        engines[name] = open_peer(name, rows)
    timed = []
    try:
        for question in questions():
            timed.append(_time(plan, question, engines))
            medians = ", ".join(f"{name} {median(times):.3f}" for name, times in timed[-1].times.items())
            plan.log(f"aggregate: {question.title}: {timed[-1].total:,} traces, medians in ms: {medians}")
    finally:
        for engine in engines.values():
            engine.close()
    plan.results.aggregate = Engines(timed, {}, machine.circumstances(load))


def _check(plan: Plan) -> None:
    """Compares every answer with that of DuckDB over the files of the store: no peer could hold so many rows."""
    duckdb = open_files(plan.store)
    expected = [(question, duckdb.prepare(question)()) for question in questions()]
    duckdb.close()
    spanwise = SpanwiseEngine(plan.store)
    try:
        for question, answer in expected:
            compare(question, answer, OURS, spanwise.prepare(question)())
    finally:
        spanwise.close()


def _time(plan: Plan, question: Question, engines: dict[str, Engine]) -> QueryTimes:
    times, answer = time_in_rounds(plan.effort, engines, repeat(question), compare)
    total = sum(cell.traces for cell in answer.values())
    return QueryTimes(question.title, question.title, "aggregate", "run", 1, total, times)
