"""The golden filters through the native module, over Arrow data in several layouts."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
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
            # Older versions of pyarrow make an array of views by a cast that they then cannot export.
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


@given(st.binary())
def test_any_bytes_are_a_filter_or_rejected(source: bytes) -> None:
    canonical, error_path = b"", "$"
    try:
        canonical = Filter.compile(source).canonical()
    except FilterError as error:
        error_path = error.path
    assert error_path.startswith("$")
    assert not canonical or Filter.compile(canonical).canonical() == canonical
