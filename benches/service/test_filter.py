"""The cost of compiling a filter, and of a mask over 1,000,000 rows, compared with `pyarrow.compute`."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from spanwise import Filter

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_benchmark.fixture import BenchmarkFixture

ROWS = 1_000_000
SEED = 7
DAY = 86_400_000_000
LAST_DAY = 1_795_176_000_000_000

USERS = [f"user-{number:05d}" for number in range(2_000)]
NAMES = [
    f"{word}_{kind}.{method}"
    for word in ("Weather", "Refund", "Invoice", "Café", "Release")
    for kind in ("Agent", "Team", "Workflow", "Desk", "Board")
    for method in ("run", "arun")
]
CHOSEN = USERS[::40]


def leaf(op: str, key: str, value: object) -> dict[str, object]:
    return {"op": op, "key": key, "value": value}


FAILED_AND_SLOW = {"op": "AND", "conditions": [leaf("EQ", "status", "ERROR"), leaf("GT", "duration_ms", 2_000)]}
RECENT = leaf("GTE", "start_time", "2026-11-19T12:00:00Z")
NESTED = {
    "op": "OR",
    "conditions": [
        FAILED_AND_SLOW,
        {"op": "AND", "conditions": [RECENT, {"op": "NOT", "condition": leaf("EQ", "user_id", USERS[0])}]},
    ],
}

MASKS: dict[str, tuple[dict[str, object], Callable[[pa.RecordBatch], pa.Array]]] = {
    "text equals": (leaf("EQ", "user_id", USERS[0]), lambda batch: pc.equal(batch["user_id"], USERS[0])),
    "text in 50": (
        {"op": "IN", "key": "user_id", "values": CHOSEN},
        lambda batch: pc.is_in(batch["user_id"], pa.array(CHOSEN)),
    ),
    "text contains": (
        leaf("CONTAINS", "name", "CAFÉ"),
        lambda batch: pc.match_substring(batch["name"], "CAFÉ", ignore_case=True),
    ),
    "text starts with": (
        leaf("STARTSWITH", "name", "Weather_"),
        lambda batch: pc.starts_with(batch["name"], "Weather_"),
    ),
    "number greater": (leaf("GT", "duration_ms", 2_000), lambda batch: pc.greater(batch["duration_ms"], 2_000)),
    "time at least": (RECENT, lambda batch: pc.greater_equal(batch["start_time"], moment(LAST_DAY - DAY))),
    "nested": (
        NESTED,
        lambda batch: pc.or_kleene(
            pc.and_kleene(pc.equal(batch["status"], "ERROR"), pc.greater(batch["duration_ms"], 2_000)),
            pc.and_kleene(
                pc.greater_equal(batch["start_time"], moment(LAST_DAY - DAY)),
                pc.invert(pc.equal(batch["user_id"], USERS[0])),
            ),
        ),
    ),
}

COMPILATIONS = {
    "one condition": FAILED_AND_SLOW["conditions"][0],  # type: ignore[index]
    "nested": NESTED,
    "in 10,000": {"op": "IN", "key": "trace_id", "values": [f"{number:032x}" for number in range(10_000)]},
    "1,000 conditions": {"op": "OR", "conditions": [leaf("CONTAINS", "name", f"agent {n}") for n in range(1_000)]},
}


def moment(micros: int) -> pa.Scalar:
    return pa.scalar(micros, pa.timestamp("us", "UTC"))


@pytest.fixture(scope="module")
def batch() -> pa.RecordBatch:
    """A million rows in plain columns; one user in 25 is null."""
    rng = Random(SEED)
    users = [*USERS, None]
    weights = [1] * len(USERS) + [len(USERS) / 24]
    times = [LAST_DAY - int(30 * DAY * rng.random()) for _ in range(ROWS)]
    return pa.record_batch({
        "status": pa.array(rng.choices(["OK", "ERROR"], [95, 5], k=ROWS)),
        "name": pa.array(rng.choices(NAMES, k=ROWS)),
        "user_id": pa.array(rng.choices(users, weights, k=ROWS), pa.string()),
        "duration_ms": pa.array([int(rng.lognormvariate(7.0, 0.9)) for _ in range(ROWS)], pa.int64()),
        "start_time": pa.array(times, pa.timestamp("us", "UTC")),
    })  # fmt: skip


@pytest.mark.parametrize("evaluator", ["spanwise", "pyarrow"])
@pytest.mark.parametrize("name", MASKS)
def test_mask(name: str, evaluator: str, batch: pa.RecordBatch, benchmark: BenchmarkFixture) -> None:
    source, expression = MASKS[name]
    compiled = Filter.compile(json.dumps(source).encode())

    def mask() -> pa.Array:
        return pa.array(compiled.mask(batch))

    def peer() -> pa.Array:
        return pc.fill_null(expression(batch), fill_value=False)

    found = mask()
    assert found.null_count == 0
    assert found.equals(peer())
    assert 0 < found.true_count < ROWS
    benchmark.group = f"mask of {ROWS:,} rows: {name}"
    benchmark(mask if evaluator == "spanwise" else peer)


@pytest.mark.parametrize("name", COMPILATIONS)
def test_compile(name: str, benchmark: BenchmarkFixture) -> None:
    source = json.dumps(COMPILATIONS[name]).encode()
    assert Filter.compile(Filter.compile(source).canonical()).canonical() == Filter.compile(source).canonical()
    benchmark.group = "compile"
    benchmark.extra_info["bytes"] = len(source)
    benchmark(Filter.compile, source)
