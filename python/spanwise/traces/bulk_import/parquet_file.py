"""Parquet of unknown origin. Its pages are measured before PyArrow reads them, and its batches are validated."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from spanwise._engine import columns_read
from spanwise.errors import DecodeError
from spanwise.traces.bulk_import.expansion import ExpansionLimit
from spanwise.traces.bulk_import.parquet_pages import ColumnChunk, column_chunks, page_headers
from spanwise.traces.bulk_import.source import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MAGIC = b"PAR1"
_BATCH_ROWS = 8_192
"""With twice as many, the memory is returned to the system and requested again for each batch."""
_BATCH_BYTES = 64 * 1024 * 1024
_MAX_PAGE_BYTES = 256 * 1024 * 1024
_MAX_METADATA_BYTES = 64 * 1024 * 1024


def batches_of_parquet(path: Path, size: int, report: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    """Yields the record batches of a file.

    Args:
        path: the file.
        size: its size in bytes.
        report: called with the position in the file after each batch.

    Raises:
        DecodeError: a column is missing, or the pages hold far more than spans could.
        pyarrow.ArrowException: the file is malformed.
    """
    limits = {"thrift_string_size_limit": _MAX_METADATA_BYTES, "thrift_container_size_limit": _MAX_METADATA_BYTES // 64}
    described: Any = pq.ParquetFile(path, **limits)
    metadata = described.metadata
    available = described.schema_arrow.names
    is_encoded = "span" in available
    names = [name for name in SCHEMA.names if name in available] if is_encoded else columns_read(available)
    leaves = [
        index
        for index in range(len(metadata.schema))
        if any(f"{metadata.schema.column(index).path}.".startswith(f"{name}.") for name in names)
    ]
    with pa.memory_map(str(path)) as mapped:
        content = memoryview(mapped.read_buffer()).cast("B")
        groups = [[group[index] for index in leaves if index < len(group)] for group in column_chunks(content)]
        rows_at_once = _rows_at_once(metadata.num_rows, groups, content)
    # Rows keep sharing the values of a dictionary: a kilobyte can give the same megabyte to thousands of rows.
    shared = {
        metadata.schema.column(index).path
        for group in groups
        for index, chunk in zip(leaves, group, strict=False)
        if chunk.has_dictionary_of_bytes
    }
    file: Any = pq.ParquetFile(path, memory_map=True, read_dictionary=sorted(shared), **limits)
    rows, read = max(metadata.num_rows, 1), 0
    for batch in file.iter_batches(batch_size=rows_at_once, columns=names):
        batch.validate(full=True)
        yield batch
        read += batch.num_rows
        report(size * read // rows)


def _rows_at_once(rows: int, groups: list[list[ColumnChunk]], file: memoryview) -> int:
    """Returns the number of rows to read at once.

    Raises:
        DecodeError: the pages of a column hold far more data than spans can have.
    """
    longest = 1
    limit = ExpansionLimit(len(file))
    for column in zip_longest(*groups):
        own = ExpansionLimit(len(file))
        for page in (page for chunk in column if chunk for page in page_headers(file[chunk.begin : chunk.end])):
            if page.size > _MAX_PAGE_BYTES:
                raise DecodeError(f"expected pages of up to {_MAX_PAGE_BYTES} bytes, found one of {page.size}")
            limit.add(0, page.size, 0)
            own.add(0, 0, page.values)
            if page.shares_prefixes:
                longest = max(longest, page.size)
    ExpansionLimit(len(file)).add(0, 0, rows)
    return max(min(_BATCH_ROWS, _BATCH_BYTES // longest), 1)
