"""Files of spans: OTLP, records in JSON, Parquet or Arrow, compressed or not.

The format is detected from the first bytes of a file, never from its name. Files are read piece by piece.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from spanwise._engine import otlp_spans, spans_of_columns, spans_of_json
from spanwise.errors import ConfigurationError, DecodeError
from spanwise.traces.bulk_import import arrow_stream, parquet_file
from spanwise.traces.bulk_import.content import Content, compression_of, read_head
from spanwise.traces.bulk_import.expansion import ExpansionLimit, chunks_of
from spanwise.traces.bulk_import.messages import SkippedMessage, messages
from spanwise.traces.bulk_import.source import RejectedSpans, conform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from spanwise.traces.bulk_import.messages import Message

_SQLITE_MAGIC = b"SQLite format 3\x00"
_MAX_REPORTED = 100
"""Rejected spans reported individually. The others are counted together."""
_MAX_REPORTED_LINES = 10
"""The same for lines and messages, and for spans on lines."""
_OTHERS = "others, for similar reasons"


@dataclass
class SpanFile:
    """One file of spans; a `Source`.

    Attributes:
        path: the file.
        skipped: the number of messages of each other signal so far.
    """

    path: Path
    skipped: Counter[str] = field(default_factory=Counter)
    _rejected: list[RejectedSpans] = field(default_factory=list)
    _others: Counter[str] = field(default_factory=Counter)
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

    @property
    def rejected(self) -> list[RejectedSpans]:
        """Returns the first rejections individually, and the others as one per unit."""
        others = self._others.items()
        return self._rejected + [RejectedSpans(self.name, _OTHERS, count, unit) for unit, count in others]

    def batches(self, advance: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        """Yields the spans as batches of `SCHEMA`. Reading stops at an unreadable part, which is a rejection.

        Args:
            advance: called with the number of bytes read since the last call.
        """
        reported = 0

        def report(position: int) -> None:
            nonlocal reported
            advance(max(position - reported, 0))
            reported = max(position, reported)

        try:
            yield from self._read(report)
        except (DecodeError, OSError, UnicodeDecodeError, pa.ArrowException) as error:
            self._rejected.append(RejectedSpans(self.name, str(error)))
        report(self.size)

    def _conform(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        limit = ExpansionLimit(self.size)
        for batch in batches:
            for chunk in chunks_of(batch, limit):
                if "span" in batch.schema.names:
                    self._rows += chunk.num_rows
                    yield conform(chunk)
                else:
                    yield self._spans_of(*spans_of_columns(chunk))

    def _spans_of(
        self, spans: object, count: int, rejected: list[tuple[int, str]], first_line: int = 0
    ) -> pa.RecordBatch:
        limit = _MAX_REPORTED_LINES if first_line else _MAX_REPORTED
        if len(rejected) > limit:
            self._others["span"] += len(rejected) - limit
        for position, reason in rejected[:limit]:
            where = f"line {first_line + position}" if first_line else f"span {self._rows + position}"
            self._reject(RejectedSpans(f"{self.name}, {where}", reason, 1), limit)
        self._rows += count
        return conform(pa.record_batch(spans))

    def _reject(self, rejection: RejectedSpans, limit: int) -> None:
        if sum(each.unit == rejection.unit for each in self._rejected) < limit:
            self._rejected.append(rejection)
        else:
            self._others[rejection.unit] += rejection.count

    def _read(self, report: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        head = read_head(self.path, None)
        compression = compression_of(head)
        if compression is not None:
            head = read_head(self.path, compression)
        if head.startswith(parquet_file.MAGIC) and compression is None:
            return self._conform(parquet_file.batches_of_parquet(self.path, self.size, report))
        content = Content(self.path, compression, report)
        if head.startswith((arrow_stream.STREAM_MAGIC, arrow_stream.FILE_MAGIC)):
            is_file = head.startswith(arrow_stream.FILE_MAGIC)
            return _to_end(self._conform(arrow_stream.batches_of_arrow(content, is_file=is_file)), content)
        if not head:
            return iter(())
        found = messages(content, head)
        if found is None:
            raise DecodeError("expected spans as OTLP, JSON, Parquet or Arrow, found something else")
        return _to_end(self._decode(found), content)

    def _decode(self, found: Iterator[Message | SkippedMessage]) -> Iterator[pa.RecordBatch]:
        for message in found:
            where = f"{self.name}, {message.unit} {message.number}" if message.number else self.name
            if isinstance(message, SkippedMessage) and message.signal:
                self.skipped[message.signal] += 1
            elif isinstance(message, SkippedMessage):
                rejection = RejectedSpans(where, message.reason, message.count, message.unit)
                self._reject(rejection, _MAX_REPORTED_LINES)
            else:
                try:
                    yield self._batch(message, where)
                except DecodeError as error:
                    if not message.number:
                        raise
                    self._reject(RejectedSpans(where, str(error), 1, message.unit), _MAX_REPORTED_LINES)

    def _batch(self, message: Message, where: str) -> pa.RecordBatch:
        if not message.is_otlp:
            spans = spans_of_json(message.content, lines=message.lines)
            return self._spans_of(*spans, first_line=message.number if message.lines else 0)
        batch, rejected, reason = otlp_spans(message.content, message.content_type)
        if rejected:
            self._reject(RejectedSpans(where, reason, rejected), _MAX_REPORTED_LINES)
        return pa.record_batch(batch)


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


def _to_end(batches: Iterator[pa.RecordBatch], content: Content) -> Iterator[pa.RecordBatch]:
    """Yields the batches of a file. An error of its compression replaces the errors that follow from it."""
    try:
        yield from batches
    except (DecodeError, pa.ArrowException):
        content.expect_end()
        raise
    content.expect_end()
