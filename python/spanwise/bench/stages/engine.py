"""Times every query beside the peers: one after another in every round, the same fresh literal for all.

A timed run begins with a question as the engine takes it, and ends with the ids as Python texts and the total as a
number. Every answer that was timed is compared with that of DuckDB, or of the first peer there is.
"""

from __future__ import annotations

import gc
import time
from itertools import islice
from typing import TYPE_CHECKING

from spanwise.bench import machine, results
from spanwise.bench.literals import Literals
from spanwise.bench.peers import Engine, Question, open_peer
from spanwise.bench.peers.spanwise import SpanwiseEngine
from spanwise.bench.queries import queries, questions
from spanwise.bench.results import Engines, Row
from spanwise.bench.stages.check import compare
from spanwise.bench.tables import median

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.bench.plan import Plan
    from spanwise.bench.queries import Query

OURS = "spanwise"
_LEAST_RUNS = 5
_WARMING_RUNS = 2


def run(plan: Plan) -> None:
    """Times what is not timed yet, query by query, and keeps each as soon as it is there.

    Raises:
        WrongAnswerError: an answer differs from that of a peer.
    """
    load = machine.load()
    engines, memory, literals = _open(plan)
    rows = plan.results.engine.rows if plan.results.engine else []
    timed = {row.title for row in rows}
    try:
        for query in queries(plan.shape):
            if query.title not in timed:
                rows.append(_time(plan, query, engines, literals))
                plan.say(f"engine: {_line(rows[-1])}")
                plan.results.engine = Engines(rows, memory, machine.circumstances(load), is_complete=False)
                results.write(plan.folder, plan.results)
    finally:
        for engine in engines.values():
            engine.close()
    plan.results.engine = Engines(rows, memory, machine.circumstances(load))


def _open(plan: Plan) -> tuple[dict[str, Engine], dict[str, int], Literals]:
    """Opens every engine, one after another, and sees how much private memory each takes."""
    memory: dict[str, int] = {}
    before = machine.anonymous_bytes()
    engines: dict[str, Engine] = {OURS: SpanwiseEngine(plan.store)}
    memory[OURS] = machine.anonymous_bytes() - before
    rows = plan.rows()
    for name in plan.effort.peers:
        plan.say(f"engine: loading {name}")
        gc.collect()
        before = machine.anonymous_bytes()
        engines[name] = open_peer(name, rows)
        # DataFusion searches the rows where they are; the others have copied them.
        memory[name] = rows.nbytes if name == "datafusion" else machine.anonymous_bytes() - before
    return engines, memory, Literals(rows, plan.shape.seed)


def _time(plan: Plan, query: Query, engines: dict[str, Engine], literals: Literals) -> Row:
    asked = questions(query, literals)
    for question in islice(asked, _WARMING_RUNS):
        _round(question, engines, list(engines))
    times: dict[str, list[float]] = {name: [] for name in engines}
    total = 0
    deadline = time.perf_counter() + plan.effort.query_seconds
    gc.collect()
    gc.disable()
    try:
        for names in _turns(list(engines), plan.effort.runs):
            if time.perf_counter() > deadline and len(times[OURS]) >= min(_LEAST_RUNS, plan.effort.runs):
                break
            taken, total = _round(next(asked), engines, names)
            for name, milliseconds in taken.items():
                times[name].append(milliseconds)
    finally:
        gc.enable()
    return Row(query.name, query.title, query.kind, query.group_by, query.page, total, times)


def _turns(names: list[str], rounds: int) -> Iterator[list[str]]:
    """Yields the order of the engines in each round: each is first as often as any other."""
    for number in range(rounds):
        first = number % len(names)
        yield names[first:] + names[:first]


def _round(question: Question, engines: dict[str, Engine], names: list[str]) -> tuple[dict[str, float], int]:
    """Asks every engine once; returns milliseconds by name, and the total."""
    taken, answers = {}, {}
    for name in names:
        ask = engines[name].prepare(question)
        begun = time.perf_counter_ns()
        answers[name] = ask()
        taken[name] = (time.perf_counter_ns() - begun) / 1e6
    judge = next((name for name in ("duckdb", *engines) if name in answers and name != OURS), OURS)
    for name, answer in answers.items():
        compare(question, answers[judge], name, answer)
    return taken, answers[OURS].total


def _line(row: Row) -> str:
    medians = ", ".join(f"{name} {median(times):.3f}" for name, times in row.times.items())
    return f"{row.title}: {row.total:,} found, {len(row.times[OURS])} runs, medians in ms: {medians}"
