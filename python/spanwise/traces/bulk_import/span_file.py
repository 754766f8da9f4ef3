"""Files of spans: OTLP, records in JSON, Parquet or Arrow, compressed or not.

The format is detected from the first bytes of a file, never from its name. Files are read piece by piece.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from spanwise._engine import columns_read, otlp_spans, spans_of_columns, spans_of_json
from spanwise.errors import ConfigurationError, DecodeError
from spanwise.traces.bulk_import.messages import Content, compression_of, messages, read_head
from spanwise.traces.bulk_import.source import SCHEMA, RejectedSpans, conform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from spanwise.traces.bulk_import.messages import Message

_SQLITE_MAGIC = b"SQLite format 3\x00"
_CHUNK_ROWS = 16_384
_PARQUET_ROWS = 8_192
"""Of twice as many, the memory is returned to the system and asked for again with each batch."""
_CHUNK_BYTES = 64 * 1024 * 1024
"""Rows of columns are encoded in chunks of at most about this size."""
_MAX_REPORTED = 100
"""Rejections reported one by one; the rest are counted together."""


@dataclass
class SpanFile:
    """One file of spans; a `Source`.

    Attributes:
        path: the file.
        rejected: what was found unusable so far.
    """

    path: Path
    rejected: list[RejectedSpans] = field(default_factory=list)
    _rows: int = 0

    def __post_init__(self) -> None:
        """Reads the file's size and modification time.

        Raises:
            ConfigurationError: the file cannot be accessed.
        """
        self.name = str(self.path)
        try:
            self._stat = self.path.stat()
        except OSError as error:
            raise ConfigurationError(f"cannot read `{self.path}`: {error.strerror}") from error
        self.size = self._stat.st_size

    @property
    def fingerprint(self) -> str:
        """Returns the file's path, size and modification time."""
        return f"{self.path.resolve()}\0{self.size}\0{self._stat.st_mtime_ns}"

    def batches(self, advance: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        """Yields the spans as batches of `SCHEMA`. Reading ends where the file is unreadable, which is a rejection.

        Args:
            advance: called with the number of bytes read since the last call.
        """
        reported = 0

        def report(position: int) -> None:
            nonlocal reported
            advance(max(position - reported, 0))
            reported = max(position, reported)

        try:
            for batch in self._read(report):
                yield from self._conform(batch)
        except (DecodeError, OSError, pa.ArrowException) as error:
            self.rejected.append(RejectedSpans(self.name, str(error)))
        report(self.size)

    def _conform(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if "span" in batch.schema.names:
            self._rows += batch.num_rows
            yield conform(batch)
            return
        bytes_per_row = max(batch.nbytes // max(batch.num_rows, 1), 1)
        step = min(_CHUNK_ROWS, _CHUNK_BYTES // bytes_per_row + 1)
        for begin in range(0, batch.num_rows, step):
            yield self._spans_of(*spans_of_columns(batch.slice(begin, step)))

    def _spans_of(self, spans: object, count: int, rejected: list[tuple[int, str]]) -> pa.RecordBatch:
        for position, reason in rejected:
            self._reject(f"{self.name}, span {self._rows + position}", reason, 1)
        self._rows += count
        return conform(pa.record_batch(spans))

    def _reject(self, where: str, reason: str, count: int) -> None:
        """Records a rejection: the first ones each, the rest as one total."""
        if len(self.rejected) < _MAX_REPORTED:
            self.rejected.append(RejectedSpans(where, reason, count))
            return
        others = sum(each.count for each in self.rejected[_MAX_REPORTED:])
        self.rejected[_MAX_REPORTED:] = [RejectedSpans(self.name, "others, for similar reasons", others + count)]

    def _read(self, report: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        head = read_head(self.path, None)
        compression = compression_of(head)
        if compression is not None:
            head = read_head(self.path, compression)
        if head.startswith(b"PAR1") and compression is None:
            return _parquet(self.path, self.size, report)
        if head.startswith(b"ARROW1") and compression is None:
            return _arrow_file(self.path, self.size, report)
        content = Content(self.path, compression, report)
        if head.startswith(b"\xff\xff\xff\xff"):
            return iter(pa.ipc.open_stream(content.stream))
        if not head:
            return iter(())
        found = messages(content, head)
        if found is None:
            raise DecodeError("expected spans as OTLP, JSON, Parquet or Arrow, found something else")
        return self._decode(found)

    def _decode(self, found: Iterator[Message]) -> Iterator[pa.RecordBatch]:
        for message in found:
            if message.is_otlp:
                batch, rejected, reason = otlp_spans(message.content, message.content_type)
                if rejected:
                    self._reject(self.name, reason, rejected)
                yield pa.record_batch(batch)
            else:
                yield self._spans_of(*spans_of_json(message.content, lines=message.lines))


def files_in(path: Path) -> list[SpanFile]:
    """Returns the file at `path`, or every file of a folder in order of name, hidden ones excluded.

    Raises:
        ConfigurationError: `path` does not exist or cannot be accessed.
    """
    if not path.is_dir():
        return [SpanFile(path)]
    within = (found for found in sorted(path.rglob("*")) if found.is_file())
    return [SpanFile(found) for found in within if not any(p.startswith(".") for p in found.relative_to(path).parts)]


def is_sqlite(path: Path) -> bool:
    """Returns whether a file is a SQLite database."""
    return path.is_file() and read_head(path, None).startswith(_SQLITE_MAGIC)


def _parquet(path: Path, size: int, report: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    file: Any = pq.ParquetFile(path, memory_map=True)
    rows, read = max(file.metadata.num_rows, 1), 0
    available = file.schema_arrow.names
    is_encoded = "span" in available
    names = [name for name in SCHEMA.names if name in available] if is_encoded else columns_read(available)
    for batch in file.iter_batches(batch_size=_PARQUET_ROWS, columns=names):
        yield batch
        read += batch.num_rows
        report(size * read // rows)


def _arrow_file(path: Path, size: int, report: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(path)) as mapped:
        file = pa.ipc.open_file(mapped)
        for index in range(file.num_record_batches):
            yield file.get_batch(index)
            report(size * (index + 1) // file.num_record_batches)
