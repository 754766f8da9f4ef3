"""The golden filters through the native module, over Arrow data in several layouts."""

from __future__ import annotations

import json
import math
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import Filter, FilterError
from support.paths import CASES

LAYOUTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
TIMES = ("start_time", "end_time", "created_at")


def cases(file: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CASES / file).read_text("utf-8"))
    return found


def encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


@cache
def batch(text: pa.DataType) -> pa.RecordBatch:
    """Returns the golden rows with text columns of type `text`."""
    rows = cases("matches.json")["rows"]
    columns: dict[str, pa.Array] = {}
    for key in rows[0]:
        values = [row[key] for row in rows]
        if key in TIMES:
            instants = [datetime.fromisoformat(value) for value in values]
            columns[key] = pa.array(instants, pa.timestamp("us", "UTC"))
        elif isinstance(values[0], int):
            columns[key] = pa.array(values, pa.int64())
        else:
            # A cast in older versions of pyarrow produces an array of views that they cannot export.
            is_view = text == pa.string_view()
            columns[key] = pa.array(values, text) if is_view else pa.array(values, pa.string()).cast(text)
    return pa.record_batch(columns)


@pytest.mark.parametrize("case", cases("filters.json")["cases"], ids=lambda case: str(case["filter"])[:60])
def test_an_accepted_filter_has_its_canonical_form_and_prints_as_what_it_parses(case: dict[str, Any]) -> None:
    canonical = encode(case["canonical"])
    assert Filter.compile(encode(case["filter"])).canonical() == canonical
    assert Filter.compile(canonical).canonical() == canonical


@pytest.mark.parametrize("case", cases("rejected_filters.json")["cases"], ids=lambda case: case["source"][:60])
def test_a_rejected_filter_names_the_error_and_its_path(case: dict[str, str]) -> None:
    with pytest.raises(FilterError) as rejected:
        Filter.compile(case["source"].encode("utf-8", "surrogatepass"))
    assert (rejected.value.message, rejected.value.path) == (case["message"], case["path"])


def matches(compiled: Filter, rows: pa.RecordBatch) -> list[int]:
    mask = pa.array(compiled.mask(rows))
    assert mask.null_count == 0
    return [row for row, is_match in zip(rows.column("id").to_pylist(), mask.to_pylist(), strict=True) if is_match]


@pytest.mark.parametrize("text", LAYOUTS, ids=str)
@pytest.mark.parametrize("case", cases("matches.json")["cases"], ids=lambda case: str(case["filter"])[:60])
def test_a_mask_marks_the_rows_that_match(case: dict[str, Any], text: pa.DataType) -> None:
    assert matches(Filter.compile(encode(case["filter"])), batch(text)) == case["matches"]


@pytest.mark.parametrize("case", cases("matches.json")["cases"], ids=lambda case: str(case["filter"])[:60])
def test_a_restricted_filter_never_matches_more(case: dict[str, Any]) -> None:
    ids = {row["id"] for row in cases("matches.json")["rows"] if row["user_id"] == "ann"}
    restricted = Filter.compile(encode(case["filter"])).restrict("user_id", "ann")
    assert set(matches(restricted, batch(pa.string()))) == set(case["matches"]) & ids


@pytest.mark.parametrize("case", cases("filters.json")["cases"], ids=lambda case: str(case["filter"])[:60])
def test_text_bytes_and_values_compile_alike(case: dict[str, Any]) -> None:
    source = case["filter"]
    canonical = Filter.compile(encode(source)).canonical()
    assert Filter.compile(encode(source).decode("utf-8")).canonical() == canonical
    if isinstance(source, dict):
        assert Filter.compile(source).canonical() == canonical
        assert Filter.compile(MappingProxyType(source)).canonical() == canonical


@pytest.mark.parametrize("case", cases("rejected_filters.json")["cases"], ids=lambda case: case["source"][:60])
def test_text_is_rejected_as_bytes_are(case: dict[str, str]) -> None:
    with pytest.raises(FilterError) as rejected:
        Filter.compile(case["source"])
    assert (rejected.value.message, rejected.value.path) == (case["message"], case["path"])


def equal(value: object) -> dict[str, object]:
    return {"op": "AND", "conditions": [{"op": "EQ", "key": "duration_ms", "value": value}]}


NESTED: list[object] = []
NESTED.append(NESTED)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        (equal({1}), "expected a value that JSON has, got `set` - at `$.conditions[0].value`"),
        (equal({1: 2}), "expected a name of a member as text, got `int` - at `$.conditions[0].value`"),
        (equal(math.nan), "expected a number in the range of a double, got `float` - at `$.conditions[0].value`"),
        (equal(10**400), "expected a number in the range of a double, got `int` - at `$.conditions[0].value`"),
        (equal("\ud800"), "expected text without lone surrogates, got `str` - at `$.conditions[0].value`"),
        (equal(None), "expected a number, got null - at `$.conditions[0].value`"),
        (equal(value=True), "expected a number, got the boolean `true` - at `$.conditions[0].value`"),
    ],
)
def test_a_value_without_json_is_named_with_its_path(source: dict[str, object], error: str) -> None:
    with pytest.raises(FilterError) as rejected:
        Filter.compile(source)
    assert str(rejected.value) == error


def test_values_that_contain_themselves_are_rejected() -> None:
    with pytest.raises(FilterError, match="expected less deeply nested values"):
        Filter.compile({"op": NESTED})


@pytest.mark.parametrize("source", [None, 5, [b"{}"], bytearray(b"{}")])
def test_a_source_of_another_type_is_rejected(source: Any) -> None:
    with pytest.raises(TypeError, match="expected a filter as `str`, `bytes` or `dict`, got"):
        Filter.compile(source)


@given(st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.booleans())
def test_a_value_means_what_its_json_means(value: object) -> None:
    for key in ("duration_ms", "name"):
        source = {"op": "EQ", "key": key, "value": value}
        outcomes = set()
        for given_as in (source, json.dumps(source)):
            try:
                outcomes.add(Filter.compile(given_as).canonical())
            except FilterError as error:
                outcomes.add(str(error).encode())
        assert len(outcomes) == 1


@given(st.binary())
def test_any_bytes_are_a_filter_or_rejected(source: bytes) -> None:
    canonical, error_path = b"", "$"
    try:
        canonical = Filter.compile(source).canonical()
    except FilterError as error:
        error_path = error.path
    assert error_path.startswith("$")
    assert not canonical or Filter.compile(canonical).canonical() == canonical
