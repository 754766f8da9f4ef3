"""Stores of rows without documents, for data sets whose documents would not fit on disk.

The files are written directly, in the format of `docs/store.md`: segments of rows with an empty document file each, and
a manifest. Searches that read only rows work as in any store; reading the spans of a trace fails, because its document
is damaged. Only the benchmark creates such stores.
"""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING, Protocol

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spanwise.bench.data import rows
from spanwise.bench.data.shape import TEAM_IDS, WORKFLOW_IDS
from spanwise.traces import Filter, TraceStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from spanwise.bench.data.rows import Rows
    from spanwise.bench.data.shape import Shape

MAX_SEGMENTS = 50
"""Less than the number at which a store merges segments, which is impossible without documents."""
SAMPLE = 1_000_000
"""Approximate number of rows to draw literals from, to limit memory."""
SEGMENT = 1_000_000
"""Rows per segment, as in other stores, or more to stay below `MAX_SEGMENTS`."""
_LOCATION_COLUMNS = ("document_offset", "document_length", "document_bytes")


class Target(Protocol):
    """The part of `spanwise.bench.plan.Plan` that a store needs."""

    @property
    def store(self) -> Path:
        """Returns the folder to write the store to."""

    @property
    def shape(self) -> Shape:
        """Returns the shape of the rows."""

    @property
    def log(self) -> Callable[[str], None]:
        """Returns the function that logs a line."""


def build(target: Target) -> tuple[float, float]:
    """Writes the store; returns the seconds for writing the rows and for indexing them."""
    begun = time.perf_counter()
    shutil.rmtree(target.store, ignore_errors=True)
    schema = _schema(target.store)
    every = range(rows.chunks(target.shape))
    together = -(-max(SEGMENT, target.shape.traces // MAX_SEGMENTS) // rows.CHUNK)
    records: list[dict[str, Any]] = []
    for first in every[::together]:
        drawn = (_all_columns(rows.draw(target.shape, chunk), schema) for chunk in every[first : first + together])
        records.append(_write_segment(target.store, len(records) + 1, rows.newest_first(drawn)))
        _write_manifest(target.store, records)
        target.log(f"build: {sum(record['rows'] for record in records):,} of {target.shape.traces:,} rows")
    fill_seconds = time.perf_counter() - begun
    target.log("build: indexing")
    begun = time.perf_counter()
    TraceStore.open(str(target.store)).close()
    return fill_seconds, time.perf_counter() - begun


def sampled(shape: Shape) -> range:
    """Returns the chunks of the sample."""
    return range(0, rows.chunks(shape), max(1, shape.traces // SAMPLE))


def _schema(store: Path) -> pa.Schema:
    """Creates the store; returns the columns of `traces.parquet`, as the engine reports them."""
    opened = TraceStore.open(str(store))
    stream = pa.RecordBatchReader.from_stream(opened.scan(Filter.compile(b"{}")))
    opened.close()
    columns = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in stream.schema
    ]
    locations = [pa.field(name, pa.uint64(), nullable=False) for name in _LOCATION_COLUMNS]
    return pa.schema([*columns, *locations], {"spanwise.format": "2"})


def _all_columns(drawn: Rows, schema: pa.Schema) -> pa.Table:
    """Returns the rows with all columns of a segment."""
    table = rows.to_table(drawn)
    count = table.num_rows
    columns_by_name: dict[str, pa.ChunkedArray | pa.Array] = dict(zip(table.column_names, table.columns, strict=True))
    zeros = pa.array(np.zeros(count, np.int64))
    columns_by_name |= {
        "team_id": _owners(drawn, rows.TEAM, TEAM_IDS),
        "workflow_id": _owners(drawn, rows.WORKFLOW, WORKFLOW_IDS),
        "end_time": pa.array(drawn.starts + drawn.durations),
        "created_at": pa.array(drawn.starts + drawn.durations),
        "total_spans": pa.array(drawn.spans),
        "error_count": pa.array(drawn.failed.astype(np.int64)),
    }
    columns = [columns_by_name.get(field.name, zeros).cast(field.type) for field in schema]
    return pa.table(columns, schema=schema)


def _owners(drawn: Rows, kind: int, ids: tuple[str, ...]) -> pa.Array:
    return pa.array(ids).take(pa.array(drawn.agents % len(ids), mask=drawn.kinds != kind))


def _write_segment(store: Path, number: int, table: pa.Table) -> dict[str, Any]:
    """Writes the files of a segment; returns its record in the manifest."""
    name = f"{number:026d}"
    folder = store / "segments" / name
    folder.mkdir()
    pq.write_table(table, folder / "traces.parquet", compression="zstd")
    (folder / "spans.otlp.zst").touch()
    files = {
        key: _record(folder / file) for key, file in (("traces", "traces.parquet"), ("documents", "spans.otlp.zst"))
    }
    return {"id": name, "rows": table.num_rows, **files, "hidden": None}


def _record(file: Path) -> dict[str, int]:
    content = file.read_bytes()
    return {"bytes": len(content), "crc32c": google_crc32c.value(content)}


def _write_manifest(store: Path, records: list[dict[str, Any]]) -> None:
    """Rewrites the manifest with these segments."""
    newest = max((store / "manifest").iterdir())
    envelope = json.loads(newest.read_bytes())
    envelope["manifest"]["segments"] = records
    text = json.dumps(envelope["manifest"], separators=(",", ":"))
    checksum = google_crc32c.value(text.encode())
    newest.write_text(f'{{"format":{envelope["format"]},"crc32c":{checksum},"manifest":{text}}}\n')
