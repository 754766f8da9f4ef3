"""Rows without documents: a store as large as no disk would hold with the spans behind its rows.

The files are written as `docs/store.md` describes them: segments of rows, each with an empty file of documents, and a
manifest that names them. Searches read rows alone, and are what they are in any store; whoever asks for the spans of
such a row is told that its document is damaged. Only the bench makes such stores.
"""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from spanwise.bench import rows
from spanwise.bench.shape import TEAM_IDS, WORKFLOW_IDS
from spanwise.traces import Filter, TraceStore

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from spanwise.bench.plan import Plan
    from spanwise.bench.rows import Rows
    from spanwise.bench.shape import Shape

MOST_SEGMENTS = 50
"""Fewer than a store merges by itself: without documents nothing can be merged."""
SAMPLE = 1_000_000
"""About so many rows are kept for literals to be drawn from: more need not be in memory at once."""
SEGMENT = 1_000_000
"""So many rows a segment has, as in other stores, or more if there would be too many segments."""
_PLACES = ("document_offset", "document_length", "document_bytes")


def build(plan: Plan) -> tuple[float, float]:
    """Writes the store anew, and the sample of its rows; returns seconds: to write the rows, to index them."""
    begun = time.perf_counter()
    shutil.rmtree(plan.store, ignore_errors=True)
    schema = _schema(plan.store)
    every = range(rows.chunks(plan.shape))
    together = -(-max(SEGMENT, plan.shape.traces // MOST_SEGMENTS) // rows.CHUNK)
    records: list[dict[str, Any]] = []
    for first in every[::together]:
        drawn = (_whole(rows.draw(plan.shape, chunk), schema) for chunk in every[first : first + together])
        records.append(_write_segment(plan.store, len(records) + 1, rows.newest_first(drawn)))
        _name(plan.store, records)
        plan.say(f"build: {sum(record['rows'] for record in records):,} of {plan.shape.traces:,} rows")
    fill_seconds = time.perf_counter() - begun
    plan.say("build: indexing")
    begun = time.perf_counter()
    TraceStore.open(str(plan.store)).close()
    return fill_seconds, time.perf_counter() - begun


def sampled(shape: Shape) -> range:
    """Returns the chunks of the sample."""
    return range(0, rows.chunks(shape), max(1, shape.traces // SAMPLE))


def _schema(store: Path) -> pa.Schema:
    """Returns the columns of `traces.parquet`, as the engine tells them; begins the store."""
    opened = TraceStore.open(str(store))
    stream = pa.RecordBatchReader.from_stream(opened.scan(Filter.compile(b"{}")))
    opened.close()
    columns = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in stream.schema
    ]
    places = [pa.field(name, pa.uint64(), nullable=False) for name in _PLACES]
    return pa.schema([*columns, *places], {"spanwise.format": "1"})


def _whole(drawn: Rows, schema: pa.Schema) -> pa.Table:
    """Returns the rows with every column a segment has."""
    table = rows.to_table(drawn)
    count = table.num_rows
    known: dict[str, pa.ChunkedArray | pa.Array] = dict(zip(table.column_names, table.columns, strict=True))
    nothing = pa.array(np.zeros(count, np.int64))
    known |= {
        "team_id": _owners(drawn, rows.TEAM, TEAM_IDS),
        "workflow_id": _owners(drawn, rows.WORKFLOW, WORKFLOW_IDS),
        "end_time": pa.array(drawn.starts + drawn.durations),
        "created_at": pa.array(drawn.starts + drawn.durations),
        "total_spans": pa.array(drawn.spans),
        "error_count": pa.array(drawn.failed.astype(np.int64)),
    }
    columns = [known.get(field.name, nothing).cast(field.type) for field in schema]
    return pa.table(columns, schema=schema)


def _owners(drawn: Rows, kind: int, ids: tuple[str, ...]) -> pa.Array:
    return pa.array(ids).take(pa.array(drawn.agents % len(ids), mask=drawn.kinds != kind))


def _write_segment(store: Path, number: int, table: pa.Table) -> dict[str, Any]:
    """Writes the files of a segment; returns how a manifest names it."""
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


def _name(store: Path, records: list[dict[str, Any]]) -> None:
    """Writes the manifest anew, with these segments."""
    newest = max((store / "manifest").iterdir())
    envelope = json.loads(newest.read_bytes())
    envelope["manifest"]["segments"] = records
    text = json.dumps(envelope["manifest"], separators=(",", ":"))
    checksum = google_crc32c.value(text.encode())
    newest.write_text(f'{{"format":{envelope["format"]},"crc32c":{checksum},"manifest":{text}}}\n')
