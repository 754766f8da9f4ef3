"""Masks over a batch of Arrow data beside PyArrow and Polars, for every type of column that a filter takes.

    .venv/bin/python benches/service/masks.py [--rows 1000000] [--rounds 15] [--layout string]

The three take turns, results are compared first, and medians are printed in milliseconds. Polars has the data in its
own form before the time is taken; for dictionaries that is `Categorical`. `-` stands where a library has no such
operation for a type.
"""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import reduce
from random import Random
from statistics import geometric_mean, median
from time import perf_counter
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from spanwise import F, Filter

SEED = 20_261_124
LAYOUTS = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}
TEXTS = ("status", "user_id", "name", "trace_id", "run_id")
FIRST = datetime(2026, 11, 1, tzinfo=UTC)
LAST = datetime(2026, 11, 8, tzinfo=UTC)
SECONDS = 30 * 86_400
UNKNOWN = pa.scalar(None, pa.bool_())

Case = tuple[Any, Callable[[Any], Any], Callable[[], pl.Expr]]
"""A filter, the same in PyArrow over columns by name, and the same in Polars."""


def rows_of(count: int) -> dict[str, pa.Array]:
    """Returns columns like those of traces; one user in eight is missing."""
    draw = Random(SEED)
    users = [f"user-{number:05d}@example.com" for number in range(10_000)]
    names = [f"{word}_{kind}.run" for word in ("Weather", "Refund", "Invoice", "Café") for kind in ("Agent", "Team")]
    start = int(FIRST.timestamp() * 1_000_000)
    return {
        "status": pa.array(draw.choices(["OK", "ERROR"], [9, 1], k=count)),
        "user_id": pa.array([user if draw.random() > 1 / 8 else None for user in draw.choices(users, k=count)]),
        "name": pa.array(draw.choices(names, k=count)),
        "trace_id": pa.array([f"{draw.getrandbits(128):032x}" for _ in range(count)]),
        "run_id": pa.array([f"run-{draw.getrandbits(64):016x}" for _ in range(count)]),
        "duration_ms": pa.array([int(draw.lognormvariate(7, 1.2)) for _ in range(count)]),
        "start_time": pa.array(
            [start + draw.randrange(SECONDS) * 1_000_000 for _ in range(count)], pa.timestamp("us", "UTC")
        ),
    }


def cases_of(columns: dict[str, pa.Array]) -> dict[str, Case]:
    """Returns the cases by name."""
    some = Random(SEED)
    trace_ids = some.sample(columns["trace_id"].to_pylist(), 5_000)
    users = [f"user-{number:05d}@example.com" for number in range(0, 10_000, 200)]
    durations = sorted(some.sample(range(10_000), 50))
    the_id, prefix = trace_ids[0], columns["run_id"][17].as_py()[:7]
    failed: Case = (F.status == "ERROR", lambda c: pc.equal(c["status"], "ERROR"), lambda: pl.col("status") == "ERROR")
    slow: Case = (
        F.duration_ms > 5_000,
        lambda c: pc.greater(c["duration_ms"], 5_000),
        lambda: pl.col("duration_ms") > 5_000,
    )
    week: Case = (
        (F.start_time >= FIRST) & (F.start_time < LAST),
        lambda c: pc.and_(
            pc.greater_equal(c["start_time"], pa.scalar(FIRST, pa.timestamp("us", "UTC"))),
            pc.less(c["start_time"], pa.scalar(LAST, pa.timestamp("us", "UTC"))),
        ),
        lambda: pl.col("start_time").is_between(FIRST, LAST, closed="left"),
    )
    chosen: Case = (
        F.user_id.is_in(users),
        lambda c: pc.if_else(pc.is_valid(c["user_id"]), pc.is_in(c["user_id"], pa.array(users)), UNKNOWN),
        lambda: pl.col("user_id").is_in(users),
    )
    cafe: Case = (
        F.name.contains("café", ignore_case=False),
        lambda c: pc.match_substring(c["name"], "café"),
        lambda: pl.col("name").str.contains("café", literal=True),
    )
    weather: Case = (
        F.name.contains("Weather", ignore_case=False),
        lambda c: pc.match_substring(c["name"], "Weather"),
        lambda: pl.col("name").str.contains("Weather", literal=True),
    )
    run: Case = (
        F.run_id.startswith(prefix),
        lambda c: pc.starts_with(c["run_id"], prefix),
        lambda: pl.col("run_id").str.starts_with(prefix),
    )
    return {
        "status EQ": failed,
        "status NEQ": (
            F.status != "ERROR",
            lambda c: pc.not_equal(c["status"], "ERROR"),
            lambda: pl.col("status") != "ERROR",
        ),
        "trace_id EQ": (
            F.trace_id == the_id,
            lambda c: pc.equal(c["trace_id"], the_id),
            lambda: pl.col("trace_id") == the_id,
        ),
        "user_id IN 50": chosen,
        "trace_id IN 5,000": (
            F.trace_id.is_in(trace_ids),
            lambda c: pc.is_in(c["trace_id"], pa.array(trace_ids)),
            lambda: pl.col("trace_id").is_in(trace_ids),
        ),
        "trace_id GT": (
            F.trace_id > the_id,
            lambda c: pc.greater(c["trace_id"], the_id),
            lambda: pl.col("trace_id") > the_id,
        ),
        "run_id STARTSWITH": run,
        "name CONTAINS": weather,
        "name CONTAINS, absent": cafe,
        "trace_id CONTAINS": (
            F.trace_id.contains("beef", ignore_case=False),
            lambda c: pc.match_substring(c["trace_id"], "beef"),
            lambda: pl.col("trace_id").str.contains("beef", literal=True),
        ),
        "user_id EXISTS": (
            F.user_id.exists(),
            lambda c: pc.is_valid(c["user_id"]),
            lambda: pl.col("user_id").is_not_null(),
        ),
        "duration GT": slow,
        "duration IN 50": (
            F.duration_ms.is_in(durations),
            lambda c: pc.is_in(c["duration_ms"], pa.array(durations)),
            lambda: pl.col("duration_ms").is_in(durations),
        ),
        "a week": week,
        "AND of 3": joined([week, failed, slow], is_and=True),
        "AND of 3 texts": joined([failed, chosen, run], is_and=True),
        "OR of 3": joined([failed, slow, week], is_and=False),
        "NOT in AND of 4": joined([negated(failed), week, negated(chosen), weather], is_and=True),
        "OR of two ANDs": joined(
            [joined([failed, slow], is_and=True), joined([week, chosen, weather], is_and=True)], is_and=False
        ),
    }


def joined(parts: list[Case], *, is_and: bool) -> Case:
    """Returns `AND` or `OR` of cases."""
    filters, arrow, polars = zip(*parts, strict=True)
    join: Callable[[Any, Any], Any] = (lambda a, b: a & b) if is_and else (lambda a, b: a | b)
    kleene = pc.and_kleene if is_and else pc.or_kleene
    return (
        reduce(join, filters),
        lambda columns: reduce(kleene, [part(columns) for part in arrow]),
        lambda: reduce(join, [part() for part in polars]),
    )


def negated(case: Case) -> Case:
    """Returns `NOT` of a case."""
    return ~case[0], lambda columns: pc.invert(case[1](columns)), lambda: ~case[2]()


def rows_true(mask: Any) -> Any:
    """Returns a mask without nulls, as PyArrow has it."""
    found = pa.array(mask) if not isinstance(mask, pl.Series) else mask.to_arrow()
    return pc.fill_null(found, False).cast(pa.bool_())  # noqa: FBT003


def measure(batch: pa.RecordBatch, frame: pl.DataFrame, case: Case, rounds: int) -> list[list[float]]:
    """Returns the times of Spanwise, PyArrow and Polars in milliseconds, after their results were compared."""
    source, arrow, polars = case
    compiled, expression = Filter.compile(str(source).encode()), polars()
    columns = {name: batch.column(name) for name in batch.schema.names}
    ways: list[Callable[[], Any]] = [
        lambda: compiled.mask(batch),
        lambda: arrow(columns),
        lambda: frame.select(expression).to_series(),
    ]
    found: list[Any] = []
    for way in ways:
        try:
            found.append(rows_true(way()))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pl.exceptions.PolarsError):
            found.append(None)
    for other in found[1:]:
        assert other is None or found[0].equals(other), (str(source), found[0].true_count, other.true_count)
    times: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        for way, result, own in zip(ways, found, times, strict=True):
            if result is not None:
                began = perf_counter()
                way()
                own.append((perf_counter() - began) * 1_000)
    return times


def main() -> None:
    """Measures all cases over all types, and prints a table for each type."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--rounds", type=int, default=15)
    arguments.add_argument("--layout", choices=LAYOUTS, action="append")
    arguments.add_argument(
        "--least", action="store_true", help="print least times instead, for a machine that is at work"
    )
    given = arguments.parse_args()
    columns = rows_of(given.rows)
    cases = cases_of(columns)
    of = min if given.least else median
    what = "least" if given.least else "medians"
    print(f"{given.rows:,} rows, {what} of {given.rounds} in ms, load {os.getloadavg()[0]:.1f}")  # noqa: T201
    for layout in given.layout or LAYOUTS:
        cast = {key: array.cast(LAYOUTS[layout]) if key in TEXTS else array for key, array in columns.items()}
        batch = pa.record_batch(cast)
        frame = pl.DataFrame(pa.table(batch)).rechunk()
        gc.collect()
        print(f"\n| {layout} | Spanwise | PyArrow | Polars | faster |\n| --- | ---: | ---: | ---: | ---: |")  # noqa: T201
        ratios = []
        for name, case in cases.items():
            times = measure(batch, frame, case, given.rounds)
            own, *peers = (of(found) if found else None for found in times)
            assert own is not None
            shown = " | ".join("-" if time is None else f"{time:.2f}" for time in (own, *peers))
            fastest = min((peer for peer in peers if peer is not None), default=None)
            ratios += [] if fastest is None else [fastest / own]
            faster = "-" if fastest is None else f"{ratios[-1]:.1f}x"
            print(f"| {name} | {shown} | {faster} |", flush=True)  # noqa: T201
        print(f"| geometric mean | | | | {geometric_mean(ratios):.1f}x |")  # noqa: T201


if __name__ == "__main__":
    main()
