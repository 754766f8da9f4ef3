"""Masks of Spanwise, PyArrow and Polars.

All agree on every operator and type, and the report says where we are slower.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from spanwise.bench.data import rows
from spanwise.bench.data.shape import Shape
from spanwise.bench.errors import WrongResultError
from spanwise.bench.machine import circumstances
from spanwise.bench.masks import Condition
from spanwise.bench.masks.conditions import COMPARISONS, conditions
from spanwise.bench.masks.layouts import layouts
from spanwise.bench.masks.libraries import Polars, PyArrow, Spanwise, compare
from spanwise.bench.plan import Effort, Plan
from spanwise.bench.report.figures import DataSet, figures
from spanwise.bench.report.goals import goal_results
from spanwise.bench.report.masks import masks_section
from spanwise.bench.results import Engines, QueryTimes, Results
from spanwise.bench.stages import build, masks

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = Shape(3_000, "small", 7)
TYPES = ["string", "string, a slice", "large_string", "string_view", "dictionary"]
NUMBERS = ["int64", "int64, a slice", "int32", "uint64", "double", "float"]
TIMES = ["timestamp[s]", "timestamp[s], a slice", "timestamp[ms]", "timestamp[us]", "timestamp[ns]", "date32[day]"]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return rows.newest_first([rows.to_table(rows.draw(SHAPE, 0))])


def operators(expression: Any) -> set[str]:
    match expression:
        case {"conditions": [*parts]}:
            return {str(expression["op"])}.union(*map(operators, parts))
        case {"condition": part}:
            return {"NOT"} | operators(part)
        case _:
            return {str(expression["op"])}


@pytest.mark.skipif(
    int(pa.__version__.partition(".")[0]) < masks.LEAST_PYARROW,
    reason="Polars needs a newer PyArrow, as the stage says",
)
def test_every_library_gives_the_same_mask_for_every_operator_on_every_type(tmp_path: Path) -> None:
    plan = Plan(SHAPE, Effort(1, 0, 1, ()), tmp_path, Results(SHAPE), lambda _: None)
    build.run(plan)
    masks.run(plan)
    assert plan.results.masks is not None
    by_type: dict[str, list[QueryTimes]] = defaultdict(list)
    for row in plan.results.masks.rows:
        by_type[row.kind].append(row)
    assert list(by_type) == [*TYPES, *NUMBERS, *TIMES]
    assert all(row.times.keys() >= {"spanwise", "pyarrow"} for row in by_type["string"])
    assert {len(row.times) for row in by_type["string"]} == {len(row.times) for row in by_type["int64"]} == {3}
    assert 0 < next(row.total for row in by_type["dictionary"] if row.title == "AND of 3") < SHAPE.traces / 2


@pytest.mark.parametrize("family", ["texts", "numbers", "times"])
def test_there_is_a_condition_for_every_operator(table: pa.Table, family: str) -> None:
    found = conditions(table, family, np.random.default_rng(7))
    wanted = {*COMPARISONS, "IN", "EXISTS", "AND", "NOT"}
    wanted |= {"CONTAINS", "STARTSWITH", "OR"} if family == "texts" else set()
    assert set().union(*(operators(condition.filter) for condition in found)) == wanted
    assert len({condition.title for condition in found}) == len(found)


def test_the_columns_have_nulls_and_slices(table: pa.Table) -> None:
    by_name = {layout.name: layout.batch for layout in layouts(table)}
    assert by_name["string"]["user_id"].null_count > 0
    for name in ("int64", "timestamp[s]", "date32[day]"):
        (column,) = by_name[name].columns
        assert 0 < column.null_count < SHAPE.traces / 8
    assert by_name["string, a slice"]["status"].offset == by_name["int64, a slice"]["duration_ms"].offset == 3


def test_a_mask_that_differs_ends_the_bench(table: pa.Table) -> None:
    (batch, *_) = [layout.batch for layout in layouts(table)]
    failed = Condition("failed", {"op": "EQ", "key": "status", "value": "ERROR"})
    ours = Spanwise(batch).prepare(failed)()
    for library in (PyArrow(batch), Polars(batch)):
        compare(failed, library.prepare(failed)(), "spanwise", ours)
    with pytest.raises(WrongResultError, match="spanwise finds"):
        compare(failed, pa.array([True] * batch.num_rows), "spanwise", ours)


def test_a_missing_value_is_neither_in_a_list_nor_out_of_it(table: pa.Table) -> None:
    (batch, *_) = [layout.batch for layout in layouts(table)]
    others = Condition("others", {"op": "NOT", "condition": {"op": "IN", "key": "user_id", "values": ["nobody"]}})
    for library in (Spanwise(batch), PyArrow(batch), Polars(batch)):
        compare(others, batch["user_id"].is_valid(), "spanwise", library.prepare(others)())


# The report


def reported() -> DataSet:
    times = {"a": {"spanwise": [1.0], "pyarrow": [4.0], "polars": [2.0]}, "b": {"spanwise": [4.0], "polars": [1.0]}}
    measured = [QueryTimes("texts", f"{name} IN 50", "string", "run", 1, 5, found) for name, found in times.items()]
    only_ours = QueryTimes("texts", "c", "string", "run", 1, 5, {"spanwise": [1.0]})
    return figures([Results(SHAPE, masks=Engines([*measured, only_ours], {}, circumstances(0)))])[0]


def test_the_report_says_where_we_are_slower() -> None:
    section = masks_section(reported())
    assert "One batch of 3,000 rows" in section
    assert "| a IN 50 | 1.00 / 2.00, 2.0x |" in section
    assert "| b IN 50 | 4.00 / 1.00, **0.25x** |" in section
    assert "| c | - |" in section
    assert "| geometric mean | 0.71x |" in section


def test_the_goals_count_them() -> None:
    found = reported()
    goals = {goal.what: goal for goal in goal_results(found)}
    assert goals["the mask that gains least against PyArrow and Polars"].result == (
        "0.25x: b IN 50, string; 1 of 2 reach it"
    )
    assert not any(goal.is_reached for goal in goals.values())
