"""The rows of a data set as columns of every type that a filter takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from spanwise.bench.masks import BATCH, Layout

if TYPE_CHECKING:
    from collections.abc import Iterator

_TEXTS = ("status", "user_id", "name", "trace_id", "run_id")
_TEXT_TYPES = (
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int32(), pa.string()),
)
_NUMBER_TYPES = (pa.int64(), pa.int32(), pa.uint64(), pa.float64(), pa.float32())
_TIME_TYPES = (*(pa.timestamp(unit, "UTC") for unit in ("s", "ms", "us", "ns")), pa.date32())
_MISSING_EVERY = 16
"""One number and one time of so many are missing; the rows of a data set miss texts only."""
_SLICED = 3
"""The first row of a slice: neither a whole byte nor a whole word of the bits of a mask."""


def layouts(rows: pa.Table) -> Iterator[Layout]:
    """Yields the columns in every type; texts, numbers and times are with some nulls, and once in a slice."""
    rows = rows.slice(0, BATCH)
    texts = rows.select(_TEXTS)
    short = pa.table({key: rows[key] for key in ("status", "duration_ms", "start_time")})
    for kind in _TEXT_TYPES:
        cast = {key: _joined(texts[key].cast(kind)) for key in _TEXTS}
        batch = _batch(cast | {key: _joined(short[key]) for key in short.column_names if key != "status"})
        yield Layout(_name(kind), "texts", batch)
        if kind == pa.string():
            yield Layout(f"{kind}, a slice", "texts", batch.slice(_SLICED, batch.num_rows - 2 * _SLICED))
    yield from _columns(rows, "numbers", "duration_ms", _NUMBER_TYPES)
    yield from _columns(rows, "times", "start_time", _TIME_TYPES)


def _columns(rows: pa.Table, family: str, key: str, types: tuple[pa.DataType, ...]) -> Iterator[Layout]:
    present = pa.array([bool(index % _MISSING_EVERY) for index in range(rows.num_rows)])
    values = pc.if_else(present, _joined(rows[key]), pa.scalar(None, rows.schema.field(key).type))
    for kind in types:
        # A time is cut to the unit of its column, for all libraries alike.
        batch = _batch({key: values.cast(kind, safe=False)})
        yield Layout(_name(kind), family, batch)
        if kind == types[0]:
            yield Layout(f"{_name(kind)}, a slice", family, batch.slice(_SLICED, batch.num_rows - 2 * _SLICED))


def _joined(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _batch(columns: dict[str, pa.Array]) -> pa.RecordBatch:
    return pa.record_batch(list(columns.values()), names=list(columns))


def _name(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return "dictionary"
    return f"timestamp[{kind.unit}]" if pa.types.is_timestamp(kind) else str(kind)
