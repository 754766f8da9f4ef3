"""Compares the results of Spanwise and DuckDB before anything is timed: ids in order, and totals."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from spanwise.bench import machine
from spanwise.bench.data.literals import Literals
from spanwise.bench.errors import WrongResultError
from spanwise.bench.peers.duckdb import open_engine, open_files
from spanwise.bench.peers.spanwise import SpanwiseEngine
from spanwise.bench.queries import bind_literals, query_templates
from spanwise.bench.results import Checked

if TYPE_CHECKING:
    from spanwise.bench.peers import Query, QueryResult
    from spanwise.bench.plan import Plan

QUERIES_PER_TEMPLATE = 5
"""Queries per template, with different literals; only one if DuckDB has to read files."""
_SEED = 0xC4EC


def run(plan: Plan) -> None:
    """Compares the results of `QUERIES_PER_TEMPLATE` queries per template.

    Raises:
        WrongResultError: a result differs.
    """
    load = machine.load()
    rows = plan.rows()
    literals = Literals(rows, plan.shape.seed ^ _SEED)
    is_rows_only = plan.shape.documents == "none"
    times = 1 if is_rows_only else QUERIES_PER_TEMPLATE
    duckdb = open_files(plan.store) if is_rows_only else open_engine(rows)
    spanwise = SpanwiseEngine(plan.store)
    answers = {}
    try:
        for template in query_templates(plan.shape):
            for query in islice(bind_literals(template, literals), times):
                compare(query, duckdb.prepare(query)(), "spanwise", spanwise.prepare(query)())
            answers[template.title] = times
    finally:
        spanwise.close()
        duckdb.close()
    plan.log(f"check: {sum(answers.values())} results of {len(answers)} queries equal those of DuckDB")
    plan.results.check = Checked(answers, machine.circumstances(load))


def compare(query: Query, expected: QueryResult, name: str, found: QueryResult) -> None:
    """Compares the result of engine `name` with that of DuckDB.

    Raises:
        WrongResultError: they differ.
    """
    if found.total != expected.total:
        raise WrongResultError(f"{name} finds {found.total} items, DuckDB {expected.total}, for {query}")
    pairs = enumerate(zip(found.ids, expected.ids, strict=False))
    for index, (got, wanted) in pairs:
        if got != wanted:
            raise WrongResultError(f"{name} has `{got}` at index {index}, DuckDB `{wanted}`, for {query}")
    if len(found.ids) != len(expected.ids):
        raise WrongResultError(
            f"{name} has {len(found.ids)} items on the page, DuckDB {len(expected.ids)}, for {query}"
        )
