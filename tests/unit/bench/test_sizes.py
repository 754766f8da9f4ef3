"""Spans written in other formats, to compare sizes."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from spanwise.bench import sizes
from spanwise.bench.data import rows
from spanwise.bench.data.documents import Writer
from spanwise.bench.data.shape import Shape
from spanwise.bench.report.contents import elsewhere_table
from spanwise.bench.report.figures import DataSet
from spanwise.bench.sizes import parquet

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = Shape(1_000, "real", 7)


def test_a_parquet_file_has_a_row_for_each_span_that_is_sent(tmp_path: Path) -> None:
    requests = list(Writer(SHAPE).requests(rows.draw(SHAPE, 0), 0))
    assert parquet.write(SHAPE, 100, tmp_path / "spans.parquet") == sum(request.spans for request in requests)
    table = pq.read_table(tmp_path / "spans.parquet")
    assert table.schema.equals(parquet.SCHEMA)
    assert (
        table.to_pylist()
        == pa.Table.from_pylist(
            [span for request in requests for span in parquet.decoded(request.body)], parquet.SCHEMA
        ).to_pylist()
    )


def test_a_row_has_what_its_span_has() -> None:
    (request, *_) = Writer(SHAPE).requests(rows.draw(SHAPE, 0), 0)
    spans = list(parquet.decoded(request.body))
    by_trace = {trace_id.hex() for trace_id in map(bytes, rows.draw(SHAPE, 0).trace_ids)}
    assert {span["TraceId"] for span in spans} <= by_trace
    ids = {span["SpanId"] for span in spans}
    assert all(span["ParentSpanId"] in ids or span["ParentSpanId"] == "" for span in spans)
    assert {span["ServiceName"] for span in spans} == {"agents"}
    attributes = [dict(span["SpanAttributes"]) for span in spans]  # type: ignore[call-overload]  # a row has any type
    assert all("openinference.span.kind" in own for own in attributes)
    models = [own for own in attributes if own["openinference.span.kind"] == "LLM"]
    assert models
    assert all(int(own["llm.token_count.prompt"]) > 0 for own in models)
    assert all(own["input.value"] for own in models)


def test_every_format_that_can_be_had_here_has_a_size_in_the_report() -> None:
    assert sizes.absent() is None
    found = sizes.bytes_a_span(Shape(1_000, "small", 7))
    expected = {sizes.PARQUET, *({sizes.CLICKHOUSE, sizes.WITH_WORDS} if find_spec("chdb") else set())}
    assert set(found) == expected
    assert all(20 < size < 1_000 for size in found.values())
    shown = elsewhere_table(
        DataSet(
            1_000,
            "small",
            7,
            {},
            store={"spans": 1_000},
            index_bytes={"documents": 90_000, "rows": 10_000, "index": 5_000},
            bytes_elsewhere=found,
        )
    )
    assert "| Spanwise: documents and rows | 100 |" in shown
    assert "| Spanwise, with all indexes | 105 |" in shown
    assert f"| Parquet, zstd | {found[sizes.PARQUET]:,.0f} |" in shown
