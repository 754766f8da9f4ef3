"""The tables of questions about texts, spans and attributes, and that of the indexes that answer them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.bench.sizes import CLICKHOUSE, PARQUET, WITH_WORDS
from spanwise.bench.tables import milliseconds, ratio, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.bench.report.figures import AskedFigures, DataSet

_PEERS = {"duckdb": "DuckDB", "chdb": "chDB", "tantivy": "Tantivy"}
_FILES = {
    "documents": "documents: the spans as they were sent, compressed",
    "rows": "rows of traces",
    "index": "index of the rows",
    "spans": "span tables",
    "texts": "index of texts",
    "attributes": "index of attributes",
}

_FORMATS = {
    PARQUET: "Parquet, zstd",
    CLICKHOUSE: "ClickHouse, the table of OpenTelemetry's exporter",
    WITH_WORDS: "the same, with an index of words",
}


def contents_table(what: str, rows: Sequence[AskedFigures]) -> str:
    """Returns a row for each question, with the peers that answered any of them."""
    peers = [name for name in _PEERS if any(name in row.peers for row in rows)]
    head = [what, "found", "asked first p50", "p99", "asked again", "next page", "runs"]
    head += [f"{_PEERS[name]} p50" for name in peers] + ["first against the fastest"] * bool(peers)
    lines = []
    for row in rows:
        cells = [row.title, "" if row.found is None else f"{row.found:,}"]
        if row.first and row.again and row.next_page:
            cells += [milliseconds(row.first.median_ms), milliseconds(row.first.p99_ms)]
            cells += [milliseconds(row.again.median_ms), milliseconds(row.next_page.median_ms), str(row.first.runs)]
        else:
            cells += ["rejected", "", "", "", ""]
        cells += [milliseconds(row.peers[name].median_ms) if name in row.peers else "" for name in peers]
        lines.append([*cells, ratio(row.ratio) if row.ratio else ""] if peers else cells)
    return table(head, lines)


def indexes_table(found: DataSet) -> str:
    """Returns the size of each kind of file, and the time that making the indexes of documents took."""
    lines = []
    for name, title in _FILES.items():
        if name not in found.index_bytes:
            continue
        seconds = found.index_seconds.get(name)
        made = "" if seconds is None else f"{seconds:,.1f} s"
        each = "" if seconds is None else f"{seconds / found.traces * 1e6:,.0f} us"
        size = found.index_bytes[name]
        lines.append([title, f"{size / 1e6:,.0f} MB", f"{size / found.traces:,.0f} B", made, each])
    return table(["file", "size", "a trace", "made in", "a trace"], lines)


def elsewhere_table(found: DataSet) -> str:
    """Returns the bytes that a span takes with all indexes, with none, and in other formats."""
    spans = found.store["spans"]
    ours = {
        "Spanwise: documents and rows": sum(found.index_bytes[name] for name in ("documents", "rows")) / spans,
        "Spanwise, with all indexes": sum(found.index_bytes.values()) / spans,
    }
    sizes = ours | {_FORMATS[name]: size for name, size in found.bytes_elsewhere.items()}
    return table(["the same spans", "bytes a span"], [[name, f"{size:,.0f}"] for name, size in sizes.items()])
