"""Masks over data of other libraries: batches, tables and streams of the Arrow PyCapsule interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from spanwise import BatchError, F, Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROWS = {
    "name": ["Weather_Agent.run", "Refund_Agent.run", None, "weather", "Other.run"] * 40,
    "duration_ms": [10, 5_000, 7_000, None, 20] * 40,
}
FILTER = Filter.compile(F.name.contains("weather") | (F.duration_ms > 6_000))
EXPECTED = [True, False, True, True, False] * 40
TABLE = pa.table(ROWS)
CHUNKED = pa.concat_tables([TABLE.slice(0, 7), TABLE.slice(7, 0), TABLE.slice(7, 100), TABLE.slice(107)])


def broken() -> Iterator[pa.RecordBatch]:
    yield from TABLE.to_batches()
    raise RuntimeError("the disk is gone")


@pytest.mark.parametrize(
    ("made", "lengths"),
    [
        (lambda: CHUNKED, [7, 100, 93]),
        (CHUNKED.to_reader, [7, 100, 93]),
        (lambda: TABLE.to_reader(max_chunksize=60), [60, 60, 60, 20]),
        (lambda: pl.DataFrame(ROWS), [200]),
        (lambda: duckdb.arrow(TABLE), [200]),
    ],
    ids=["table", "reader", "small batches", "polars", "duckdb"],
)
def test_a_table_or_a_stream_has_a_mask_of_each_batch(made: Callable[[], Any], lengths: list[int]) -> None:
    mask = pa.chunked_array(FILTER.mask(made()))
    assert mask.null_count == 0
    assert mask.to_pylist() == EXPECTED
    assert [len(chunk) for chunk in mask.chunks if len(chunk)] == lengths


def test_a_table_without_rows_has_an_empty_mask() -> None:
    mask = pa.chunked_array(FILTER.mask(TABLE.schema.empty_table()))
    assert (mask.type, len(mask)) == (pa.bool_(), 0)


def test_a_record_batch_has_one_array() -> None:
    batch = TABLE.combine_chunks().to_batches()[0]
    mask = pa.array(FILTER.mask(batch))
    assert mask.to_pylist() == EXPECTED
    assert batch.filter(mask).num_rows == sum(EXPECTED)


@pytest.mark.parametrize(
    ("make", "read"), [(pa.record_batch, pa.array), (pa.table, pa.chunked_array)], ids=["batch", "table"]
)
def test_columns_that_a_filter_does_not_read_may_be_of_any_type(
    make: Callable[[Any], Any], read: Callable[[Any], Any]
) -> None:
    unread = pa.UnionArray.from_dense(
        pa.array([0] * 200, pa.int8()), pa.array(range(200), pa.int32()), [pa.array(range(200))]
    )
    mask = FILTER.mask(make({"of no field": unread} | ROWS | {"status": unread}))
    assert read(mask).to_pylist() == EXPECTED


class Watched:
    """A record batch that records which of its columns were selected."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self.selected: list[list[str]] = []

    def select(self, names: list[str]) -> pa.RecordBatch:
        self.selected.append(names)
        if set(names) - set(self._batch.schema.names):
            raise ValueError("no such column")
        return self._batch.select(names)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        schema, array = self._batch.__arrow_c_array__(requested_schema)
        return schema, array


def test_only_the_columns_that_a_filter_reads_are_taken_of_a_batch() -> None:
    batch = Watched(pa.record_batch(ROWS | {"status": ROWS["name"]}))
    assert pa.array(FILTER.mask(batch)).to_pylist() == EXPECTED
    assert batch.selected == [["duration_ms", "name"]]


def test_what_a_batch_lacks_is_named_whatever_its_library_says() -> None:
    with pytest.raises(BatchError, match="column `duration_ms` is missing"):
        FILTER.mask(Watched(pa.record_batch({"name": ROWS["name"]})))


def test_the_first_of_two_columns_of_a_name_is_read() -> None:
    names = ["name", "duration_ms", "name"]
    batch = pa.RecordBatch.from_arrays([pa.array(ROWS["name"]), pa.array(ROWS["duration_ms"]), pa.nulls(200)], names)
    assert pa.array(FILTER.mask(batch)).to_pylist() == EXPECTED


@pytest.mark.parametrize("make", [pa.record_batch, pa.table], ids=["batch", "table"])
def test_a_column_that_data_lacks_is_named(make: Callable[[Any], Any]) -> None:
    with pytest.raises(BatchError, match="column `duration_ms` is missing"):
        FILTER.mask(make({"name": ROWS["name"], "status": ROWS["name"]}))


def test_a_mask_selects_rows_in_polars() -> None:
    frame = pl.DataFrame(ROWS)
    mask = pl.Series(FILTER.mask(frame))
    assert frame.filter(mask).height == sum(EXPECTED)


def test_a_query_of_duckdb_has_a_mask() -> None:
    with duckdb.connect() as database:
        found = database.sql("SELECT 'Weather' AS name, i * 1000 AS duration_ms FROM range(10) AS r(i)")
        assert found is not None
        assert pa.chunked_array(FILTER.mask(found)).to_pylist() == [True] * 10
        assert pa.chunked_array(FILTER.mask(found.limit(3))).to_pylist() == [True] * 3


def test_a_stream_that_fails_is_an_error_with_its_reason() -> None:
    reader = pa.RecordBatchReader.from_batches(TABLE.schema, broken())
    with pytest.raises(BatchError, match=r"the stream of record batches failed: .*the disk is gone"):
        FILTER.mask(reader)


def test_a_column_that_a_stream_lacks_is_named() -> None:
    with pytest.raises(BatchError, match="column `duration_ms` is missing"):
        FILTER.mask(TABLE.select(["name"]))


@pytest.mark.parametrize("data", [None, ROWS, [1, 2]], ids=["none", "dict", "list"])
def test_what_is_no_arrow_data_is_rejected(data: Any) -> None:
    with pytest.raises(TypeError, match="expected a record batch, table or stream of Arrow data"):
        FILTER.mask(data)
