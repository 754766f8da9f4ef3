"""Asks every question of Spanwise and of DuckDB, before anything is timed: the same ids in order, the same total."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from spanwise.bench import machine
from spanwise.bench.faults import WrongAnswerError
from spanwise.bench.literals import Literals
from spanwise.bench.peers.duckdb import open_engine, open_files
from spanwise.bench.peers.spanwise import SpanwiseEngine
from spanwise.bench.queries import queries, questions
from spanwise.bench.results import Checked

if TYPE_CHECKING:
    from spanwise.bench.peers import Answer, Question
    from spanwise.bench.plan import Plan

TIMES = 5
"""How often each query is asked, with other literals; once where DuckDB has to read files."""
_SEED = 0xC4EC


def run(plan: Plan) -> None:
    """Compares `TIMES` answers of every query.

    Raises:
        WrongAnswerError: one differs.
    """
    load = machine.load()
    rows = plan.rows()
    literals = Literals(rows, plan.shape.seed ^ _SEED)
    is_bare = plan.shape.documents == "none"
    times = 1 if is_bare else TIMES
    duckdb = open_files(plan.store) if is_bare else open_engine(rows)
    spanwise = SpanwiseEngine(plan.store)
    answers = {}
    try:
        for query in queries(plan.shape):
            for question in islice(questions(query, literals), times):
                compare(question, duckdb.prepare(question)(), "spanwise", spanwise.prepare(question)())
            answers[query.title] = times
    finally:
        spanwise.close()
        duckdb.close()
    plan.say(f"check: {sum(answers.values())} answers of {len(answers)} queries are those of DuckDB")
    plan.results.check = Checked(answers, machine.circumstances(load))


def compare(question: Question, expected: Answer, name: str, found: Answer) -> None:
    """Compares what the engine of that name found with what DuckDB did.

    Raises:
        WrongAnswerError: they differ.
    """
    if found.total != expected.total:
        raise WrongAnswerError(f"{name} finds {found.total} in all, DuckDB {expected.total}, for {question}")
    pairs = enumerate(zip(found.ids, expected.ids, strict=False))
    for place, (got, wanted) in pairs:
        if got != wanted:
            raise WrongAnswerError(f"{name} has `{got}` at place {place}, DuckDB `{wanted}`, for {question}")
    if len(found.ids) != len(expected.ids):
        raise WrongAnswerError(
            f"{name} has {len(found.ids)} items on the page, DuckDB {len(expected.ids)}, for {question}"
        )
