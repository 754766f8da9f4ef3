"""Times every query on all engines, one after another in each round, with the same new literals for all of them.

The deep page of a filter is asked with the literals of its first page, and our store is opened anew for it, so that
it keeps nothing of them.

A timed run starts with the query in the form that the engine takes, and ends with the ids as Python strings and the
total as a number. Every timed result is compared with that of DuckDB, or else of the first peer.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from spanwise.bench import machine, results
from spanwise.bench.data.literals import Literals
from spanwise.bench.memory import bytes_a_second
from spanwise.bench.peers import Engine, open_peer
from spanwise.bench.peers.spanwise import SpanwiseEngine
from spanwise.bench.queries import bind_literals, query_templates
from spanwise.bench.results import Engines, QueryTimes
from spanwise.bench.rounds import OURS, time_in_rounds
from spanwise.bench.scan_bound import ScanBytes
from spanwise.bench.stages.check import compare
from spanwise.bench.tables import median

if TYPE_CHECKING:
    from spanwise.bench.plan import Plan
    from spanwise.bench.queries import QueryTemplate

_WARMUP_RUNS = 2


def run(plan: Plan) -> None:
    """Times the queries that have no results yet, and saves the results after each query.

    Raises:
        WrongResultError: a result differs from that of a peer.
    """
    load = machine.load()
    engines, memory, literals = _open(plan)
    scans, speed = ScanBytes(plan.rows()), bytes_a_second()
    rows = plan.results.engine.rows if plan.results.engine else []
    timed = {row.title for row in rows}
    try:
        for template in query_templates(plan.shape):
            if template.title not in timed:
                if template.page > 1:
                    engines[OURS].close()
                    engines[OURS] = SpanwiseEngine(plan.store)
                rows.append(_time(plan, template, engines, literals))
                rows[-1].scan_bytes = scans.of(next(bind_literals(template, literals)))
                plan.log(f"engine: {_line(rows[-1])}")
                plan.results.engine = Engines(
                    rows, memory, machine.circumstances(load), is_complete=False, memory_bytes_a_second=speed
                )
                results.write(plan.folder, plan.results)
    finally:
        for engine in engines.values():
            engine.close()
    plan.results.engine = Engines(rows, memory, machine.circumstances(load), memory_bytes_a_second=speed)


def _open(plan: Plan) -> tuple[dict[str, Engine], dict[str, int], Literals]:
    """Opens the engines one after another, and measures the private memory that each of them takes."""
    memory: dict[str, int] = {}
    before = machine.anonymous_bytes()
    engines: dict[str, Engine] = {OURS: SpanwiseEngine(plan.store)}
    memory[OURS] = machine.anonymous_bytes() - before
    rows = plan.rows()
    for name in plan.effort.peers:
        plan.log(f"engine: loading {name}")
        gc.collect()
        before = machine.anonymous_bytes()
        engines[name] = open_peer(name, rows)
        # DataFusion uses the rows in place; the others copy them.
        memory[name] = rows.nbytes if name == "datafusion" else machine.anonymous_bytes() - before
    return engines, memory, Literals(rows, plan.shape.seed)


def _time(plan: Plan, template: QueryTemplate, engines: dict[str, Engine], literals: Literals) -> QueryTimes:
    literals.begin(template.name)
    bound = bind_literals(template, literals)
    times, result = time_in_rounds(plan.effort, engines, bound, compare, _WARMUP_RUNS)
    return QueryTimes(
        template.name, template.title, template.kind, template.group_by, template.page, result.total, times
    )


def _line(row: QueryTimes) -> str:
    medians = ", ".join(f"{name} {median(times):.3f}" for name, times in row.times.items())
    return f"{row.title}: {row.total:,} found, {len(row.times[OURS])} runs, medians in ms: {medians}"
