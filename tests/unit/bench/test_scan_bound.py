"""The lower bound of a scan: the bytes of the columns that a query reads."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spanwise.bench.data.shape import Shape
from spanwise.bench.machine import circumstances
from spanwise.bench.peers import Query, Sort
from spanwise.bench.report.figures import figures
from spanwise.bench.report.goals import goal_results
from spanwise.bench.report.page import page
from spanwise.bench.results import Engines, QueryTimes, Results
from spanwise.bench.scan_bound import ScanBytes

COUNT = 1_000
IDS = COUNT * (32 + 4)


@pytest.fixture(scope="module")
def scans() -> ScanBytes:
    columns = {
        "trace_id": [f"{number:032x}" for number in range(COUNT)],
        "session_id": [f"{number:032x}" for number in range(COUNT)],
        "status": ["OK", "ERROR"] * (COUNT // 2),
        "duration_ms": list(range(COUNT)),
        "start_time": list(range(COUNT)),
    }
    return ScanBytes(pa.table(columns))


def test_a_column_counts_in_its_smallest_form(scans: ScanBytes) -> None:
    words = len("OKERROR") + 2 * 4
    assert scans.of(Query({})) == 8 * COUNT
    assert scans.of(Query({"op": "EQ", "key": "status", "value": "OK"})) == (8 + 1) * COUNT + words
    assert scans.of(Query({"op": "EQ", "key": "trace_id", "value": "0"})) == 8 * COUNT + IDS


def test_the_order_and_the_group_are_read_too(scans: ScanBytes) -> None:
    assert scans.of(Query({}, sort=Sort("duration_ms"))) == 2 * 8 * COUNT
    assert scans.of(Query({}, "session")) == 8 * COUNT + IDS
    twice = {"op": "EQ", "key": "duration_ms", "value": 1}
    assert scans.of(Query({"op": "AND", "conditions": [twice, twice]})) == 2 * 8 * COUNT


def test_the_report_has_the_bound_as_a_column() -> None:
    quick = QueryTimes("quick", "quick", "wide", "run", 1, 5, {"spanwise": [0.2], "duckdb": [4.0]}, 100)
    slow = QueryTimes("slow", "slow", "wide", "run", 1, 5, {"spanwise": [6.0], "duckdb": [12.0]}, 2_000)
    engine = Engines([quick, slow], {"spanwise": 1, "duckdb": 1}, circumstances(0), memory_bytes_a_second=1e6)
    (found,) = figures([Results(Shape(1_000, "small", 7), engine=engine)])
    text = page([found], "plot.svg", "data.json")
    assert "| faster than the fastest | a scan at least |" in text
    assert "| 20x | 0.100 ms |" in text
    assert "| 2.0x | 2.00 ms |" in text
    goal = next(goal for goal in goal_results(found) if "a scan" in goal.what)
    assert goal.result == "6.00 ms for 2.00 ms: slow"
    assert not goal.is_reached
