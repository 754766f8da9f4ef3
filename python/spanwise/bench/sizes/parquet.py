"""The spans of a data set as a Parquet file, with a column for each field and maps of attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from spanwise.bench.data import rows
from spanwise.bench.data.documents import Writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from opentelemetry.proto.common.v1.common_pb2 import KeyValue

    from spanwise.bench.data.shape import Shape

_ATTRIBUTES = pa.map_(pa.string(), pa.string())
SCHEMA = pa.schema(
    [
        ("Timestamp", pa.timestamp("ns", "UTC")),
        *((name, pa.string()) for name in ("TraceId", "SpanId", "ParentSpanId", "SpanName", "ServiceName")),
        ("ResourceAttributes", _ATTRIBUTES),
        ("ScopeName", pa.string()),
        ("ScopeVersion", pa.string()),
        ("SpanAttributes", _ATTRIBUTES),
        ("Duration", pa.uint64()),
        ("StatusCode", pa.string()),
        ("StatusMessage", pa.string()),
    ]
)
"""The columns of the table that OpenTelemetry's exporter for ClickHouse fills; its kind of span is never sent here.

Source: `exporter/clickhouseexporter` of the OpenTelemetry Collector.
"""
_STATUS = ("Unset", "Ok", "Error")


def write(shape: Shape, max_traces: int, file: Path) -> int:
    """Writes the spans of the first traces of a data set, compressed with zstd; returns how many spans these are."""
    chunks = min(rows.chunks(shape), -(-max_traces // rows.CHUNK))
    writer, spans = Writer(shape), 0
    with pq.ParquetWriter(file, SCHEMA, compression="zstd") as parquet:
        for chunk in range(chunks):
            requests = writer.requests(rows.draw(shape, chunk), chunk)
            table = pa.Table.from_pylist([span for request in requests for span in decoded(request.body)], SCHEMA)
            parquet.write_table(table)
            spans += table.num_rows
    return spans


def decoded(body: bytes) -> Iterator[dict[str, object]]:
    """Yields a row of `SCHEMA` for each span of an OTLP request."""
    # It comes with the exporters of OpenTelemetry, which a benchmark need not have.
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415
        ExportTraceServiceRequest,
    )

    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource_attributes = _texts(resource.resource.attributes)
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield {
                    "Timestamp": span.start_time_unix_nano,
                    "TraceId": span.trace_id.hex(),
                    "SpanId": span.span_id.hex(),
                    "ParentSpanId": span.parent_span_id.hex(),
                    "SpanName": span.name,
                    "ServiceName": dict(resource_attributes).get("service.name", ""),
                    "ResourceAttributes": resource_attributes,
                    "ScopeName": scope.scope.name,
                    "ScopeVersion": scope.scope.version,
                    "SpanAttributes": _texts(span.attributes),
                    "Duration": span.end_time_unix_nano - span.start_time_unix_nano,
                    "StatusCode": _STATUS[span.status.code],
                    "StatusMessage": span.status.message,
                }


def _texts(attributes: Iterable[KeyValue]) -> list[tuple[str, str]]:
    """Returns attributes with texts and integers, which are all that is generated, as texts."""
    return [
        (one.key, one.value.string_value if one.value.HasField("string_value") else str(one.value.int_value))
        for one in attributes
    ]
