"""Limits the memory that a small file can take once it is read: compressed pages, runs of rows, shared values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from spanwise.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

_FREE_BYTES = 256 * 1024 * 1024
_MAX_RATIO = 1000
"""Columns of spans compress better than lines of JSON, but every span has an id of its own."""
_FREE_ROWS = 1_000_000
_CHUNK_ROWS = 16_384
_CHUNK_BYTES = 64 * 1024 * 1024
_TEXTS = (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string, pa.types.is_large_binary)
_VIEW_INTEGERS = 4
"""A view has four integers; the first is the length of the value."""


class ExpansionLimit:
    """Counts the bytes read from a file, and the bytes and rows that they expand to."""

    def __init__(self, read: int = 0) -> None:
        """Starts to count after the first `read` bytes."""
        self._read, self._bytes, self._rows = read, 0, 0

    def add(self, read: int, expanded: int, rows: int) -> None:
        """Counts `read` bytes of the file, which expand to `expanded` bytes and `rows` rows.

        Raises:
            DecodeError: the expansion is far greater than spans can reach.
        """
        self._read += read
        self._bytes += expanded
        self._rows += rows
        if self._bytes > max(_FREE_BYTES, _MAX_RATIO * self._read):
            raise DecodeError(f"expected a file to become at most {_MAX_RATIO} times its size in memory, found more")
        if self._rows > max(_FREE_ROWS, self._read):
            raise DecodeError(f"expected at most a row for each byte, found {self._rows} rows in {self._read} bytes")


def chunks_of(batch: pa.RecordBatch, limit: ExpansionLimit) -> Iterator[pa.RecordBatch]:
    """Yields slices of a valid batch that stay small even if each row gets its own copy of a shared value.

    A slice is larger only if it is a single row.

    Raises:
        DecodeError: as `ExpansionLimit.add`.
    """
    for begin in range(0, batch.num_rows, _CHUNK_ROWS):
        rows = batch.slice(begin, _CHUNK_ROWS)
        limit.add(0, _bytes_of(rows), rows.num_rows)
        pending = [rows]
        while pending:
            chunk = pending.pop()
            middle = chunk.num_rows // 2
            if middle and _bytes_of(chunk) > _CHUNK_BYTES:
                pending += [chunk.slice(middle), chunk.slice(0, middle)]
            else:
                yield chunk


def _bytes_of(rows: pa.RecordBatch) -> int:
    return sum(map(_expanded_bytes, rows.columns))


def _expanded_bytes(column: pa.Array) -> int:
    """Returns the bytes of a column if each row has its own copy of its value."""
    if pa.types.is_dictionary(column.type):
        return _dictionary_bytes(column)
    if _is_view(column.type):
        return sum(_view_lengths(column))
    if pa.types.is_struct(column.type):
        return sum(map(_expanded_bytes, column.flatten()))
    if pa.types.is_map(column.type):
        entries = column.cast(pa.list_(pa.struct([("key", column.type.key_type), ("value", column.type.item_type)])))
        return _expanded_bytes(entries.flatten())
    if isinstance(column, (pa.ListArray, pa.LargeListArray, pa.FixedSizeListArray)):
        return _expanded_bytes(column.flatten())
    found: int = column.nbytes
    return found


def _dictionary_bytes(column: pa.DictionaryArray) -> int:
    values = column.dictionary
    if _is_view(values.type):
        lengths = pa.array(_view_lengths(values), pa.int64())
    elif any(is_one(values.type) for is_one in _TEXTS):
        lengths = pc.binary_length(values)
    else:
        # Values of other types may share data internally, so each counts as all of them.
        return len(column) * max(_expanded_bytes(values), 1)
    total = pc.sum(pc.take(lengths, column.indices)).as_py()
    return int(total or 0)


def _is_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary_view(kind) or pa.types.is_string_view(kind))


def _view_lengths(column: pa.Array) -> memoryview:
    _, views, *_ = column.buffers()
    begin, end = (_VIEW_INTEGERS * at for at in (column.offset, column.offset + len(column)))
    return memoryview(views).cast("B").cast("i")[begin:end:_VIEW_INTEGERS]
