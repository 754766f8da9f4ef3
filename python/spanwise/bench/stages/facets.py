"""Times facets on all engines that are measured with them, one after another in each round, and compares the answers.

On rows without documents, DuckDB reads the files of the store, and only verifies.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

from spanwise.bench import machine
from spanwise.bench.errors import WrongResultError
from spanwise.bench.facets import PEERS, QUESTIONS, open_peer
from spanwise.bench.facets.duckdb import DuckDB
from spanwise.bench.facets.spanwise import SpanwiseEngine
from spanwise.bench.peers.duckdb import open_files
from spanwise.bench.results import Engines, QueryTimes
from spanwise.bench.rounds import OURS, time_in_rounds
from spanwise.bench.tables import median

if TYPE_CHECKING:
    from spanwise.bench.facets import Engine, Facets, Question
    from spanwise.bench.plan import Plan


def run(plan: Plan) -> None:
    """Times all questions.

    Raises:
        WrongResultError: the facets of an engine differ from those of DuckDB.
    """
    load = machine.load()
    engines: dict[str, Engine] = {OURS: SpanwiseEngine(plan.store)}
    rows = plan.rows()
    for name in (name for name in PEERS if name in plan.effort.peers):
        plan.log(f"facets: loading {name}")
        engines[name] = open_peer(name, rows)
    verifier = engines.get("duckdb")
    if verifier is None:
        verifier = DuckDB(open_files(plan.store)) if plan.shape.documents == "none" else open_peer("duckdb", rows)
    timed = []
    try:
        for question in QUESTIONS:
            timed.append(_time(plan, question, engines, verifier.prepare(question)()))
            medians = ", ".join(f"{name} {median(times):.3f}" for name, times in timed[-1].times.items())
            plan.log(f"facets: {question.title}: {timed[-1].total:,} traces, medians in ms: {medians}")
    finally:
        for engine in {*engines.values(), verifier}:
            engine.close()
    plan.results.facets = Engines(timed, {}, machine.circumstances(load))


def _time(plan: Plan, question: Question, engines: dict[str, Engine], expected: Facets) -> QueryTimes:
    def check(question: Question, _: Facets, name: str, found: Facets) -> None:
        if found != expected:
            raise WrongResultError(f"{name} counts {found}, DuckDB {expected}, for {question}")

    times, _ = time_in_rounds(plan.effort, engines, repeat(question), check)
    status = expected["status"]
    total = sum(count for _, count in status.values) + status.missing
    return QueryTimes(question.title, question.title, "facets", "run", 1, total, times)
