"""`F` and `S` have exactly the fields of the engine, and build exactly the expressions that it compiles."""

from __future__ import annotations

import json
import operator
from datetime import UTC, date, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import Expression, F, Filter, FilterError, S
from spanwise._engine import filter_schema
from spanwise.client.fields import BooleanField, ContentField, NumberField, StatusField, TextField, TimeField
from support.paths import CASES

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = json.loads(filter_schema())
TYPES = {
    "string": TextField,
    "enum": StatusField,
    "number": NumberField,
    "datetime": TimeField,
    "boolean": BooleanField,
    "text": ContentField,
}
COMPARISONS: dict[str, Callable[[Any, Any], Expression]] = {
    "EQ": operator.eq,
    "NEQ": operator.ne,
    "GT": operator.gt,
    "GTE": operator.ge,
    "LT": operator.lt,
    "LTE": operator.le,
    "IN": lambda field, value: field.is_in([value]),
    "CONTAINS": lambda field, value: field.contains(value),
    "STARTSWITH": lambda field, value: field.startswith(value),
    "EXISTS": lambda field, _: field.exists(),
}
VALUES = {"string": "a", "enum": "OK", "number": 1.5, "datetime": "2026-11-01", "boolean": True, "text": "a"}


@pytest.mark.parametrize(("namespace", "fields"), [(F, SCHEMA["fields"]), (S, SCHEMA["span_fields"])])
def test_the_fields_are_those_of_the_engine(namespace: object, fields: list[dict[str, str]]) -> None:
    own = {
        name: type(found)
        for name in dir(namespace)
        if isinstance(found := getattr(namespace, name), tuple(TYPES.values()))
    }
    assert own == {field["key"]: TYPES[field["type"]] for field in fields}
    assert all(getattr(namespace, name).key == name for name in own)


@pytest.mark.parametrize("field", SCHEMA["fields"], ids=lambda field: str(field["key"]))
def test_every_operator_of_a_field_of_traces_compiles(field: dict[str, Any]) -> None:
    for op in field["operators"]:
        expression = COMPARISONS[op](getattr(F, field["key"]), VALUES[field["type"]])
        assert (expression["op"], expression["key"]) == (op, field["key"])
        assert json.loads(Filter.compile(expression).canonical())["op"] == op


@pytest.mark.parametrize("field", SCHEMA["span_fields"], ids=lambda field: str(field["key"]))
def test_every_operator_of_a_field_of_spans_compiles(field: dict[str, Any]) -> None:
    for op in field["operators"]:
        where = COMPARISONS[op](getattr(S, field["key"]), VALUES[field["type"]])
        canonical = json.loads(Filter.compile(F.span(where)).canonical())
        assert (canonical["op"], canonical["where"]["op"], canonical["where"]["key"]) == ("SPAN", op, field["key"])


@pytest.mark.parametrize("axis", SCHEMA["axes"])
def test_every_axis_compiles_with_all_its_options(axis: str) -> None:
    spelled = {"as": ("name", "next"), "from": ("from_", "start"), "scope": ("scope", "siblings")}
    spelled |= {"same": ("same", [S.tool_name, S.input])}  # type: ignore[dict-item]
    spelled |= {"without": ("without", S.is_root == True)}  # type: ignore[dict-item]  # noqa: E712
    options = dict(spelled[option] for option in ["as", *SCHEMA["axis_options"].get(axis, [])])
    expression = F.span(getattr(S, axis.lower())(S.type == "TOOL", **options), name="first", at_least=2, at_most=3)
    canonical = json.loads(Filter.compile(expression).canonical())
    assert set(canonical) == {"op", "as", "at_least", "at_most", "where"}
    assert set(canonical["where"]) == {"op", "as", "where", *SCHEMA["axis_options"].get(axis, [])}
    assert canonical["where"]["op"] == axis


def test_attributes_are_compared_as_what_they_are_compared_with() -> None:
    for condition in [F.attribute("a.b") == "x", F.attribute("n") > 0.5, F.resource("beta") == True]:  # noqa: E712
        assert Filter.compile(condition).canonical()
    assert F.resource("service.version").startswith("2.")["key"] == "resource.service.version"


def test_case_is_written_only_where_it_differs_from_the_operator() -> None:
    assert F.name.contains("a").to_dict() == {"op": "CONTAINS", "key": "name", "value": "a"}
    assert F.name.contains("a", ignore_case=False)["ignore_case"] is False
    assert F.name.equals("a", ignore_case=True)["ignore_case"] is True
    assert F.name.startswith("a", ignore_case=True)["ignore_case"] is True


def test_times_need_a_zone_and_dates_do_not() -> None:
    assert (F.start_time >= datetime(2026, 11, 1, 12, tzinfo=UTC))["value"] == "2026-11-01T12:00:00+00:00"
    assert (F.start_time >= date(2026, 11, 1))["value"] == "2026-11-01"
    with pytest.raises(ValueError, match="expected a time with a time zone"):
        _ = F.start_time >= datetime(2026, 11, 1, 12)  # noqa: DTZ001


def test_an_expression_prints_as_the_json_that_compiles_to_the_same() -> None:
    expression = (F.status == "ERROR") & F.name.contains("Zürich") & ~(F.user_id == "ann")
    assert [part["op"] for part in expression["conditions"]] == ["EQ", "CONTAINS", "NOT"]
    assert json.loads(str(expression)) == expression.to_dict() == dict(expression)
    assert Filter.compile(str(expression)).canonical() == Filter.compile(expression).canonical()
    assert ~~expression == expression


@pytest.mark.parametrize("mistake", [lambda a, b: a and b, lambda a, b: a or b, lambda a, _: not a])
def test_python_operators_that_would_drop_a_part_are_errors(mistake: Callable[[object, object], object]) -> None:
    with pytest.raises(TypeError, match="has no truth value"):
        mistake(F.status == "OK", F.name == "a")


def test_an_expression_joins_expressions_only() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = (F.status == "OK") & True  # type: ignore[operator]


LEAVES = st.sampled_from(
    [F.status == "ERROR", F.user_id == "ann", F.name.contains("a"), F.duration_ms > 100, F.session_id.exists()]
)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda part: st.one_of(
        st.builds(operator.and_, part, part), st.builds(operator.or_, part, part), st.builds(operator.invert, part)
    ),
    max_leaves=8,
)


@cache
def golden_rows() -> pa.RecordBatch:
    rows = json.loads((CASES / "matches.json").read_text("utf-8"))["rows"]
    keys = ("status", "user_id", "name", "session_id")
    return pa.record_batch(
        {key: pa.array([row[key] for row in rows], pa.string()) for key in keys}
        | {"duration_ms": pa.array([row["duration_ms"] for row in rows], pa.int64())}
    )


@settings(deadline=None)
@given(EXPRESSIONS, EXPRESSIONS)
def test_the_laws_of_boolean_algebra_hold_over_rows(one: Expression, other: Expression) -> None:
    batch = golden_rows()

    def rows_of(expression: Expression) -> set[int]:
        mask = pa.array(Filter.compile(expression).mask(batch)).to_pylist()
        return {row for row, is_match in enumerate(mask) if is_match}

    assert rows_of(one & other) == rows_of(one) & rows_of(other)
    assert rows_of(one | other) == rows_of(one) | rows_of(other)
    assert rows_of(~one) <= set(range(batch.num_rows)) - rows_of(one)
    assert rows_of(~(one & other)) == rows_of(~one | ~other)


def test_what_does_not_fit_a_field_is_named_by_the_engine() -> None:
    with pytest.raises(FilterError, match="expected a number, got the string `fast`"):
        Filter.compile(F.duration_ms > "fast")  # type: ignore[operator]
