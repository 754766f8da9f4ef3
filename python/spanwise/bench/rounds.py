"""Times a query on several engines, one after another in each round, and compares the results of every round."""

from __future__ import annotations

import gc
import time
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from spanwise.bench.plan import Effort

OURS = "spanwise"
_MIN_RUNS = 5

Query = TypeVar("Query")
Result = TypeVar("Result")
_Asked_contra = TypeVar("_Asked_contra", contravariant=True)
_Found_co = TypeVar("_Found_co", covariant=True)


class Engine(Protocol[_Asked_contra, _Found_co]):
    """An engine that can be timed."""

    def prepare(self, query: _Asked_contra, /) -> Callable[[], _Found_co]:
        """Returns a function that executes the query."""


def time_in_rounds(
    effort: Effort,
    engines: Mapping[str, Engine[Query, Result]],
    queries: Iterator[Query],
    check: Callable[[Query, Result, str, Result], None],
    warmup_runs: int = 1,
) -> tuple[dict[str, list[float]], Result]:
    """Returns the milliseconds of every round by engine, and our result of the last one.

    Args:
        effort: how many rounds there are, and after how many seconds fewer are enough.
        engines: the engines by name; each is the first one equally often.
        queries: the query of each round.
        check: called in every round with the query, the result of DuckDB or else of the first peer, and the name and
            the result of every engine; raises if they differ.
        warmup_runs: rounds at the beginning whose times are not taken.
    """
    for query in islice(queries, warmup_runs):
        _round(query, engines, list(engines), check)
    times: dict[str, list[float]] = {name: [] for name in engines}
    deadline = time.perf_counter() + effort.query_seconds
    gc.collect()
    gc.disable()
    try:
        for names in _rotations(list(engines), effort.runs):
            if time.perf_counter() > deadline and len(times[OURS]) >= min(_MIN_RUNS, effort.runs):
                break
            elapsed, result = _round(next(queries), engines, names, check)
            for name, milliseconds in elapsed.items():
                times[name].append(milliseconds)
    finally:
        gc.enable()
    return times, result


def _rotations(names: list[str], rounds: int) -> Iterator[list[str]]:
    """Yields the order of the engines for each round, such that each is first equally often."""
    for number in range(rounds):
        first = number % len(names)
        yield names[first:] + names[:first]


def _round(
    query: Query,
    engines: Mapping[str, Engine[Query, Result]],
    names: list[str],
    check: Callable[[Query, Result, str, Result], None],
) -> tuple[dict[str, float], Result]:
    """Runs the query once on every engine; returns the milliseconds by engine, and our result."""
    elapsed, found = {}, {}
    for name in names:
        execute = engines[name].prepare(query)
        begun = time.perf_counter_ns()
        found[name] = execute()
        elapsed[name] = (time.perf_counter_ns() - begun) / 1e6
    reference = next((name for name in ("duckdb", *engines) if name in found and name != OURS), OURS)
    for name, result in found.items():
        check(query, found[reference], name, result)
    return elapsed, found[OURS]
