"""Spans in the table that OpenTelemetry's exporter for ClickHouse creates, with its indexes.

Source: `exporter/clickhouseexporter` of the OpenTelemetry Collector.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_MAP = "Map(LowCardinality(String), String)"
_COLUMNS = (
    "Timestamp DateTime64(9) CODEC(Delta(8), ZSTD(1))",
    *(f"{name} String CODEC(ZSTD(1))" for name in ("TraceId", "SpanId", "ParentSpanId")),
    *(f"{name} LowCardinality(String) CODEC(ZSTD(1))" for name in ("SpanName", "ServiceName", "StatusCode")),
    *(f"{name} {_MAP} CODEC(ZSTD(1))" for name in ("ResourceAttributes", "SpanAttributes")),
    *(f"{name} String CODEC(ZSTD(1))" for name in ("ScopeName", "ScopeVersion", "StatusMessage")),
    "Duration UInt64 CODEC(ZSTD(1))",
)
_INDEXES = (
    "INDEX trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1",
    *(
        f"INDEX {name}_{what} map{what}({name}) TYPE bloom_filter(0.01) GRANULARITY 1"
        for name in ("ResourceAttributes", "SpanAttributes")
        for what in ("Keys", "Values")
    ),
    "INDEX duration Duration TYPE minmax GRANULARITY 1",
)
_WORDS = "INDEX words mapValues(SpanAttributes) TYPE text(tokenizer = splitByNonAlpha)"
_ENGINE = "MergeTree PARTITION BY toDate(Timestamp) ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))"


def size_of(parquet: Path, *, has_words: bool = False) -> int:
    """Returns the bytes on disk of the table with the spans of a Parquet file, merged, with all of its indexes.

    Args:
        parquet: the file, with the columns of the table.
        has_words: whether there is an index of the words in values of attributes as well, which the exporter has not.
    """
    session: Any = import_module("chdb.session").Session()
    try:
        session.query("CREATE DATABASE bench ENGINE = Atomic")
        session.query("USE bench")
        definitions = ", ".join((*_COLUMNS, *_INDEXES, *((_WORDS,) if has_words else ())))
        session.query(f"CREATE TABLE spans ({definitions}) ENGINE = {_ENGINE}")
        names = ", ".join(column.partition(" ")[0] for column in _COLUMNS)
        session.query(f"INSERT INTO spans ({names}) SELECT {names} FROM file('{parquet}', Parquet)")  # noqa: S608  # our own
        session.query("OPTIMIZE TABLE spans FINAL")
        found = session.query("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'spans'", "CSV")
        return int(found.bytes())
    finally:
        session.close()
