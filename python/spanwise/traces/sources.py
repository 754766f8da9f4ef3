"""Files that spans can be read from: OTLP, Parquet, Arrow; one or a folder of them, compressed or not.

What a file holds is seen from how it begins, never from its name. Everything is read piece by piece.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from spanwise._engine import otlp_spans, span_schema
from spanwise.errors import ConfigurationError, DecodeError
from spanwise.traces.otlp_file import Content, compression_of, head_of, messages
from spanwise.traces.span_columns import columns_of, read_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COLUMNS = ("created_at", "span", "resource", "resource_schema_url", "scope", "scope_schema_url")
"""What an import reads of a span; the other columns say the same in other words."""

# What others wrote may leave out every column but the spans themselves.
SCHEMA = pa.schema([pa.schema(span_schema()).field(name).with_nullable(name != "span") for name in COLUMNS])

_SQLITE = b"SQLite format 3\x00"
_MOST_NAMED = 100


@dataclass(frozen=True)
class Refused:
    """What was not imported, and why.

    Attributes:
        count: how many spans; 0 for what is not counted in spans, such as a file.
    """

    where: str
    reason: str
    count: int = 0


class Source(Protocol):
    """Something that spans are read from.

    Attributes:
        name: what people call it.
        size: how much there is to read, in a unit of its own.
        refused: what was found unusable while reading.
    """

    name: str
    size: int
    refused: list[Refused]

    @property
    def fingerprint(self) -> str | None:
        """Returns what tells this content from any other; None if it may change while it is read."""

    def batches(self, advance: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        """Yields the spans in the columns of `SCHEMA`; tells `advance` how much more was read."""


@dataclass
class SpanFile:
    """One file."""

    path: Path
    refused: list[Refused] = field(default_factory=list)
    _rows: int = 0

    def __post_init__(self) -> None:
        """Looks at the file.

        Raises:
            ConfigurationError: it cannot be read.
        """
        self.name = str(self.path)
        try:
            self._stat = self.path.stat()
        except OSError as error:
            raise ConfigurationError(f"cannot read `{self.path}`: {error.strerror}") from error
        self.size = self._stat.st_size

    @property
    def fingerprint(self) -> str:
        """Returns its path, size and time of change."""
        return f"{self.path.resolve()}\0{self.size}\0{self._stat.st_mtime_ns}"

    def batches(self, advance: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        """Yields the spans in the columns of `SCHEMA`. What cannot be read is refused, and ends the file."""
        told = 0

        def tell(position: int) -> None:
            nonlocal told
            advance(max(position - told, 0))
            told = max(position, told)

        try:
            for batch in self._read(tell):
                yield from self._conformed(batch)
        except (DecodeError, OSError, pa.ArrowException) as error:
            self.refused.append(Refused(self.name, str(error)))
        tell(self.size)

    def _conformed(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if "span" in batch.schema.names:
            yield conformed(batch)
        else:
            for spans, received in read_spans(batch, self._refuse_row):
                yield with_received(spans, received)
        self._rows += batch.num_rows

    def _refuse_row(self, row: int, reason: str) -> None:
        self._refuse(f"{self.name}, span {self._rows + row}", reason, 1)

    def _refuse(self, where: str, reason: str, count: int) -> None:
        """Names the first refusals, and counts the others."""
        if len(self.refused) < _MOST_NAMED:
            self.refused.append(Refused(where, reason, count))
            return
        others = sum(refused.count for refused in self.refused[_MOST_NAMED:])
        self.refused[_MOST_NAMED:] = [Refused(self.name, "others, for such reasons", others + count)]

    def _read(self, tell: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        head = head_of(self.path, None)
        compression = compression_of(head)
        if compression is not None:
            head = head_of(self.path, compression)
        if head.startswith(b"PAR1") and compression is None:
            return _parquet(self.path, self.size, tell)
        if head.startswith(b"ARROW1") and compression is None:
            return _arrow_file(self.path, self.size, tell)
        content = Content(self.path, compression, tell)
        if head.startswith(b"\xff\xff\xff\xff"):
            return iter(pa.ipc.open_stream(content.stream))
        if not head:
            return iter(())
        found = messages(content, head)
        if found is None:
            raise DecodeError("expected spans as OTLP, Parquet or Arrow, found something else")
        return self._otlp(found)

    def _otlp(self, found: Iterator[tuple[bytes, str]]) -> Iterator[pa.RecordBatch]:
        for message, content_type in found:
            batch, rejected, reason = otlp_spans(message, content_type)
            if rejected:
                self._refuse(self.name, reason, rejected)
            yield pa.record_batch(batch)


def files_in(path: Path) -> list[SpanFile]:
    """Returns the file at `path`, or all files of a folder in order of their names, hidden ones left out.

    Raises:
        ConfigurationError: there is nothing at `path`, or it cannot be read.
    """
    if not path.is_dir():
        return [SpanFile(path)]
    within = (found for found in sorted(path.rglob("*")) if found.is_file())
    return [SpanFile(found) for found in within if not any(p.startswith(".") for p in found.relative_to(path).parts)]


def is_sqlite(path: Path) -> bool:
    """Returns whether a file is a SQLite database."""
    return path.is_file() and head_of(path, None).startswith(_SQLITE)


def conformed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the columns of `SCHEMA` of a batch with encoded spans; those that it does not have are null.

    Raises:
        pyarrow.ArrowException: a column is of another type.
    """
    columns = [_column(batch, wanted) for wanted in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def with_received(batch: pa.RecordBatch, received: list[int | None]) -> pa.RecordBatch:
    """Returns the columns of `SCHEMA` with when each trace was first received, in microseconds since 1970."""
    columns = conformed(batch)
    created = columns.schema.field("created_at")
    return columns.set_column(columns.schema.get_field_index(created.name), created, pa.array(received, created.type))


def _column(batch: pa.RecordBatch, wanted: pa.Field) -> pa.Array:
    if wanted.name not in batch.schema.names:
        missing = [None] * batch.num_rows
        return pa.array(missing, wanted.type)
    column = batch.column(wanted.name)
    if column.type == wanted.type:
        return column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_dictionary(wanted.type):
        return column.cast(wanted.type.value_type).dictionary_encode()
    return column.cast(wanted.type)


def _parquet(path: Path, size: int, tell: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    file: Any = pq.ParquetFile(path, memory_map=True)
    rows, read = max(file.metadata.num_rows, 1), 0
    there = file.schema_arrow.names
    names = [name for name in COLUMNS if name in there] if "span" in there else list(columns_of(there).values())
    for batch in file.iter_batches(batch_size=16_384, columns=names):
        yield batch
        read += batch.num_rows
        tell(size * read // rows)


def _arrow_file(path: Path, size: int, tell: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(path)) as mapped:
        file = pa.ipc.open_file(mapped)
        for place in range(file.num_record_batches):
            yield file.get_batch(place)
            tell(size * (place + 1) // file.num_record_batches)
