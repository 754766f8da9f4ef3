"""Generated queries: they cover every operator and type, and all engines give the same results."""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from spanwise import Filter
from spanwise.bench.data import rows
from spanwise.bench.data.shape import Shape
from spanwise.bench.machine import circumstances
from spanwise.bench.peers import PEERS, Query
from spanwise.bench.peers.spanwise import SpanwiseEngine
from spanwise.bench.plan import Effort, Plan
from spanwise.bench.questions import DEPTHS, NAMES, ORDERED, SCANS, absent, open_peer, page_of
from spanwise.bench.questions.generator import MAX_CONDITIONS, PAIRS, SORTS, generate
from spanwise.bench.questions.ordered import chdb, postgresql
from spanwise.bench.report.figures import DataSet, figures
from spanwise.bench.report.goals import goal_results
from spanwise.bench.report.questions import questions_section, questions_title
from spanwise.bench.results import QueryTimes, Questions, Results
from spanwise.bench.scan_bound import fields_of
from spanwise.bench.stages import build, questions
from spanwise.bench.stages.check import compare

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from spanwise.bench.peers import Engine

SHAPE = Shape(3_000, "small", 7)
LIMIT = 20


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return rows.newest_first([rows.to_table(rows.draw(SHAPE, 0))])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plan = plan_at(tmp_path_factory.mktemp("store"))
    build.run(plan)
    return plan.store


def plan_at(target: Path, peers: tuple[str, ...] = PEERS, **effort: Any) -> Plan:
    wanted = Effort(runs=2, query_seconds=0, ingest_seconds=1, peers=peers, questions=3)._replace(**effort)
    return Plan(SHAPE, wanted, target, Results(SHAPE), lambda _: None)


@pytest.fixture(scope="module")
def engines(table: pa.Table, store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Engine]]:
    opened: dict[str, Engine] = {"spanwise": SpanwiseEngine(store)}
    folder = tmp_path_factory.mktemp("peers")
    try:
        for name in (*SCANS, *ORDERED):
            if absent(name) is None:
                opened[name] = open_peer(name, table, folder)
        yield opened
    finally:
        for engine in opened.values():
            engine.close()


# The generator


def leaves(expression: Any) -> list[tuple[str, str]]:
    if "key" in expression:
        return [(expression["key"], expression["op"])]
    parts = expression.get("conditions") or [expression["condition"]]
    return [leaf for part in parts for leaf in leaves(part)]


def test_the_questions_are_the_same_for_the_same_seed(table: pa.Table) -> None:
    once, again, more = (generate(count, table, seed) for count, seed in ((50, 7), (50, 7), (80, 7)))
    other = generate(50, table, 8)
    for first, second, third in zip(once, again, more, strict=False):
        drawn = [question.draw(np.random.default_rng(1)) for question in (first, second, third)]
        assert drawn[0] == drawn[1] == drawn[2]
        assert first[0] == second[0] == third[0]
    assert [question.title for question in once] != [question.title for question in other]


def test_a_thousand_questions_ask_everything(table: pa.Table) -> None:
    asked = generate(1_000, table, 7)
    rng = np.random.default_rng(7)
    drawn = [question.draw(rng) for question in asked]
    pairs = Counter(pair for expression in drawn for pair in leaves(expression))
    assert pairs.keys() == set(PAIRS)
    assert max(pairs.values()) - min(pairs.values()) <= 1
    alone = {pair for expression in drawn if "key" in expression for pair in leaves(expression)}
    assert len(alone) > 0.9 * len(PAIRS)
    assert {question.conditions for question in asked} == set(range(1, MAX_CONDITIONS + 1))
    assert all(
        len(leaves(expression)) == question.conditions for question, expression in zip(asked, drawn, strict=True)
    )
    whole = msgspec.json.encode(drawn)
    assert all(word in whole for word in (b'"AND"', b'"OR"', b'"NOT"', b'"ignore_case":true', b'"ignore_case":false'))
    assert {(question.group_by, question.depth) for question in asked} == {
        (group, depth) for group in ("run", "session") for depth in DEPTHS
    }
    assert {question.sort for question in asked if question.group_by == "run"} == set(SORTS)
    assert {question.sort for question in asked if question.group_by == "session"} == {SORTS[0]}
    assert 100 < sum(question.user is not None for question in asked) < 300
    assert len({question.title for question in asked}) == 1_000


def test_every_question_compiles_and_has_new_literals_in_every_round(table: pa.Table) -> None:
    rng = np.random.default_rng(3)
    without_literals = {("status", operator) for operator in ("EQ", "NEQ", "IN")}
    are_new = []
    for question in generate(200, table, 7):
        drawn = [question.draw(rng) for _ in range(4)]
        for expression in drawn:
            Filter.compile(expression)
        found = set(leaves(drawn[0]))
        if question.conditions > 1 and not all(pair in without_literals or pair[1] == "EXISTS" for pair in found):
            are_new.append(any(first != second for first, second in pairwise(drawn)))
    # A column with few values may have no other value that matches as many rows.
    assert are_new.count(True) > 0.9 * len(are_new) > 0


def test_every_round_of_a_question_finds_about_as_much(table: pa.Table, engines: dict[str, Engine]) -> None:
    """A single round decides whether an engine is among the fastest."""
    rng = np.random.default_rng(9)
    spread = Counter[bool]()
    for question in generate(300, table, 7):
        totals = [engines["duckdb"].prepare(Query(question.draw(rng)))().total for _ in range(4)]
        shares = [(total + 30) / SHAPE.traces for total in totals]
        spread[max(shares) <= 3 * min(shares)] += 1
    assert spread[True] > 0.9 * spread.total(), spread


def test_the_answers_are_of_every_size(table: pa.Table, engines: dict[str, Engine]) -> None:
    rng = np.random.default_rng(5)
    totals = [
        engines["duckdb"].prepare(Query(question.draw(rng)))().total
        for question in generate(300, table, 7)
        if question.conditions == 1
    ]
    shares = [total / SHAPE.traces for total in totals]
    for low, high in ((-1, 0), (0, 0.01), (0.01, 0.2), (0.2, 0.8), (0.8, 1)):
        assert sum(low < share <= high for share in shares) > 5, (low, high)


@pytest.mark.parametrize(
    ("items", "pages"), [(0, (1, 1, 1, 1)), (20, (1, 1, 1, 1)), (21, (1, 2, 1, 2)), (1_000, (1, 2, 25, 50))]
)
def test_the_pages_of_a_result(items: int, pages: tuple[int, ...]) -> None:
    assert tuple(page_of(depth, items, LIMIT) for depth in DEPTHS) == pages


# The law: all engines agree


def test_all_engines_give_the_same_answers(table: pa.Table, engines: dict[str, Engine]) -> None:
    assert engines.keys() >= {"spanwise", *SCANS, "duckdb_file", "polars_sorted"}
    seed = int(os.environ.get("QUESTION_SEED", "7"))
    rng = np.random.default_rng(seed)
    compared = 0
    for question in generate(int(os.environ.get("QUESTIONS", "100")), table, seed):
        user = str(question.user(rng)) if question.user else None
        query = Query(question.draw(rng), question.group_by, sort=question.sort, user=user)
        total = engines["duckdb"].prepare(query)().total
        query = query._replace(page=page_of(question.depth, total, LIMIT))
        expected = engines["duckdb"].prepare(query)()
        assert expected.total == total or not expected.ids
        for name, engine in engines.items():
            compare(query, expected, name, engine.prepare(query)())
        compared += bool(expected.ids)
    assert compared > 50


def test_an_engine_that_cannot_be_had_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [absent(name) for name in (*SCANS, "duckdb_file", "polars_sorted")] == [None] * 5
    monkeypatch.setattr(chdb, "find_spec", lambda _: None)
    monkeypatch.setattr(postgresql, "_binaries", lambda: None)
    assert (absent("chdb"), absent("postgresql")) == ("chDB is not installed", "PostgreSQL is not installed")
    monkeypatch.setattr(postgresql, "find_spec", lambda _: None)
    assert absent("postgresql") == "psycopg is not installed"


# The stage


def test_the_stage_goes_on_where_it_was_and_leaves_out_who_is_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = {name: f"{name} is away" for name in ("chdb", "postgresql")}
    monkeypatch.setattr(questions, "absent", away.get)
    monkeypatch.setattr(questions, "_MUCH_SLOWER", 1e9)
    plan = plan_at(tmp_path)
    build.run(plan)
    questions.run(plan)
    assert plan.results.questions is not None
    first = list(plan.results.questions.rows)
    assert len(first) == 3
    assert {tuple(sorted(row.times)) for row in first} == {
        tuple(sorted(("spanwise", *SCANS, "duckdb_file", "polars_sorted")))
    }
    assert all(len(times) == 2 for row in first for times in row.times.values())
    assert all(row.scan_bytes >= 8 * SHAPE.traces and row.random_read_nanoseconds > 0 for row in first)
    assert plan.results.questions.left_out == away
    plan.results.questions.memory_bytes_a_second = 1e15
    questions.run(plan._replace(effort=plan.effort._replace(questions=5)))
    assert plan.results.questions.memory_bytes_a_second == 1e15
    assert plan.results.questions.rows[:3] == first
    assert len(plan.results.questions.rows) == 5


def test_an_engine_that_is_much_slower_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "_near", lambda kind, _: kind[:1])
    plan = plan_at(tmp_path, ("duckdb", "polars"), questions=1, runs=4)
    build.run(plan)
    questions.run(plan)
    assert plan.results.questions is not None
    (row,) = plan.results.questions.rows
    assert {name: len(times) for name, times in row.times.items()} == {"spanwise": 4, "duckdb": 4, "polars": 1}


def test_the_fields_of_an_expression() -> None:
    status: dict[str, object] = {"op": "EQ", "key": "status", "value": "OK"}
    name: dict[str, object] = {"op": "NOT", "condition": {"op": "EXISTS", "key": "name"}}
    assert list(fields_of({"op": "AND", "conditions": [status, name]})) == ["status", "name"]
    assert list(fields_of({})) == []


# The report


def asked(number: int, *, scan_bytes: int = 0, **times: float) -> QueryTimes:
    each = {name: [time] * 15 for name, time in times.items()}
    return QueryTimes("question", f"{number}: a EQ", "first", "run", 1, 5, each, scan_bytes)


def reported(*asked_rows: QueryTimes, load: float = 0.2) -> DataSet:
    found = Questions(
        list(asked_rows), {"chdb": "chDB is not installed"}, circumstances(load), memory_bytes_a_second=1e6
    )
    return figures([Results(SHAPE, questions=found)])[0]


ROWS = (
    asked(1, spanwise=1, duckdb=8, polars=4, postgresql=0.5, scan_bytes=500),
    asked(2, spanwise=1, duckdb=64, polars=100, postgresql=8, scan_bytes=2_000),
)


def test_the_report_has_both_kinds_of_engines_and_the_worst() -> None:
    found = reported(*ROWS)
    assert found.questions is not None
    section = questions_section(found.questions)
    assert "| the fastest of the scan engines | 16x | 4.0x | 0 of 2 |" in section
    assert "| DuckDB | 23x | 8.0x | 0 of 2 |" in section
    assert "| the fastest of the engines with an order or indexes | 2.0x | 0.50x | 1 of 2 |" in section
    assert "chDB: chDB is not installed." in section
    assert "| 1: a EQ | 5 | 1.00 ms | 0.500 ms (PostgreSQL) | 0.50x |" in section
    assert "1 of 2 take less than a scan" in section
    assert "| 1: a EQ | 1.00 ms | 0.500 ms | 2.0x |" in section
    assert {*SCANS, *ORDERED} == NAMES.keys()


def test_the_title_says_what_was_not_quiet_or_few() -> None:
    few = [msgspec.structs.replace(row, times={name: times[:9] for name, times in row.times.items()}) for row in ROWS]
    titles = [reported(*ROWS), reported(*ROWS, load=6.84), reported(*few), reported(*few, load=0.51)]
    assert [questions_title(found.questions) for found in titles if found.questions] == [
        "2 generated questions",
        "2 generated questions (load 6.8)",
        "2 generated questions (9 repetitions)",
        "2 generated questions (load 0.5, 9 repetitions)",
    ]


def test_the_report_says_how_even_the_memory_was() -> None:
    before = zip(ROWS, (30.4, 90.0), strict=True)
    measured = [msgspec.structs.replace(row, random_read_nanoseconds=read) for row, read in before]
    said = [
        " ".join(questions_section(found.questions).split())
        for found in (reported(*measured), reported(measured[0], ROWS[1]))
        if found.questions
    ]
    assert "took 60 ns in the median before a question, 30 at least and 90 at most." in said[0]
    assert "random place" not in said[1]


def test_an_engine_that_was_given_up_is_not_the_fastest() -> None:
    row = asked(1, spanwise=1, duckdb=8)
    row.times["polars"] = [4]
    found = reported(row)
    assert found.questions is not None
    assert found.questions.columns["scans"].worst[0].peer == "duckdb"


def test_an_engine_that_was_given_up_is_compared_with_the_round_it_took_part_in() -> None:
    row = asked(1, spanwise=1, duckdb=8)
    row.times |= {"spanwise": [2, *row.times["spanwise"]], "duckdb": [8, *row.times["duckdb"]], "polars": [4]}
    found = reported(row)
    assert found.questions is not None
    assert {name: beside.lowest for name, beside in found.questions.engines.items()} == {"duckdb": 8, "polars": 2}


def test_the_goals_have_both_columns() -> None:
    found = reported(*ROWS)
    results = {goal.what: goal.result for goal in goal_results(found)}
    assert results == {
        "generated questions beside scan engines, geometric mean": "16x",
        "generated questions beside scan engines, the one that gains least": "4.0x: 1: a EQ",
        "generated questions beside engines with an order or indexes, geometric mean": "2.0x",
        "generated questions beside engines with an order or indexes, the one that gains least": "0.50x: 1: a EQ",
    }
