"""Files that spans can be read from: OTLP, Parquet, Arrow; one or a folder of them, compressed or not.

What a file holds is seen from how it begins, never from its name. Everything is read piece by piece.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from spanwise._engine import otlp_spans, span_schema
from spanwise.errors import ConfigurationError, DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

COLUMNS = ("created_at", "span", "resource", "resource_schema_url", "scope", "scope_schema_url")
"""What an import reads of a span; the other columns say the same in other words."""

# What others wrote may leave out every column but the spans themselves.
SCHEMA = pa.schema([pa.schema(span_schema()).field(name).with_nullable(name != "span") for name in COLUMNS])

_HEAD = 16
_PIECE = 8 * 1024 * 1024
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_SQLITE = b"SQLite format 3\x00"
_PROTOBUF = "application/x-protobuf"
_JSON = "application/json"
_RESOURCE_SPANS = 0x0A  # field 1 of `TracesData`, length-delimited


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
                yield conformed(batch)
        except (DecodeError, OSError, pa.ArrowException) as error:
            self.refused.append(Refused(self.name, str(error)))
        tell(self.size)

    def _read(self, tell: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
        head = _head(self.path, None)
        compression = next((name for magic, name in _COMPRESSED.items() if head.startswith(magic)), None)
        if compression is not None:
            head = _head(self.path, compression)
        if head.startswith(b"PAR1") and compression is None:
            return _parquet(self.path, self.size, tell)
        if head.startswith(b"ARROW1") and compression is None:
            return _arrow_file(self.path, self.size, tell)
        content = _Content(self.path, compression, tell)
        if head.startswith(b"\xff\xff\xff\xff"):
            return iter(pa.ipc.open_stream(content.stream))
        if head.lstrip().startswith(b"{"):
            return self._otlp(_json_messages(content), _JSON)
        if head.startswith(bytes([_RESOURCE_SPANS])):
            return self._otlp(_protobuf_messages(content), _PROTOBUF)
        if not head:
            return iter(())
        raise DecodeError("expected spans as OTLP, Parquet or Arrow, found something else")

    def _otlp(self, messages: Iterator[bytes], content_type: str) -> Iterator[pa.RecordBatch]:
        for message in messages:
            batch, rejected, reason = otlp_spans(message, content_type)
            if rejected:
                self.refused.append(Refused(self.name, reason, rejected))
            yield pa.record_batch(batch)


class _Content:
    """The bytes of a file as they come, inflated."""

    def __init__(self, path: Path, compression: str | None, tell: Callable[[int], None]) -> None:
        self._file = pa.OSFile(str(path))
        self.stream = self._file if compression is None else pa.CompressedInputStream(self._file, compression)
        self._tell = tell

    def read(self, length: int) -> bytes:
        piece: bytes = self.stream.read(length)
        self._tell(self._file.tell())
        return piece

    def rest(self) -> bytes:
        return b"".join(iter(lambda: self.read(_PIECE), b""))


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
    return path.is_file() and _head(path, None).startswith(_SQLITE[:_HEAD])


def conformed(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the columns of `SCHEMA`; those that a batch does not have are null.

    Raises:
        DecodeError: it has no spans, or a column is of another type.
    """
    if "span" not in batch.schema.names:
        raise DecodeError(f"expected a column `span` of encoded spans, found {', '.join(batch.schema.names) or 'none'}")
    columns = [_column(batch, wanted) for wanted in SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


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


def _head(path: Path, compression: str | None) -> bytes:
    with pa.OSFile(str(path)) as file:
        stream = file if compression is None else pa.CompressedInputStream(file, compression)
        head: bytes = stream.read(_HEAD)
        return head


def _parquet(path: Path, size: int, tell: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    file: Any = pq.ParquetFile(path, memory_map=True)
    rows, read = max(file.metadata.num_rows, 1), 0
    names = [name for name in COLUMNS if name in file.schema_arrow.names]
    for batch in file.iter_batches(batch_size=16_384, columns=names or None):
        yield batch
        read += batch.num_rows
        tell(size * read // rows)


def _arrow_file(path: Path, size: int, tell: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(path)) as mapped:
        file = pa.ipc.open_file(mapped)
        for place in range(file.num_record_batches):
            yield file.get_batch(place)
            tell(size * (place + 1) // file.num_record_batches)


def _json_messages(content: _Content) -> Iterator[bytes]:
    """Yields the messages of a file that holds one, or one on each line."""
    pending = bytearray()
    while b"\n" not in pending and (piece := content.read(_PIECE)):
        pending += piece
    if not _is_json(pending.partition(b"\n")[0]):
        yield bytes(pending) + content.rest()
        return
    while pending:
        *lines, rest = pending.split(b"\n")
        piece = content.read(_PIECE)
        pending = rest + piece
        if not piece:
            lines, pending = [*lines, rest], bytearray()
        yield from (bytes(line) for line in lines if line.strip())


def _is_json(text: bytearray) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError:
        return False
    return True


def _protobuf_messages(content: _Content) -> Iterator[bytes]:
    """Yields messages of about a piece's size: parts of a message that stand behind one another are messages."""
    pending = bytearray()
    while piece := content.read(_PIECE):
        pending += piece
        end = _whole_fields(pending)
        if end:
            yield bytes(pending[:end])
            del pending[:end]
    if pending:
        yield bytes(pending)


def _whole_fields(message: bytearray) -> int:
    """Returns where the last whole `resource_spans` of a message that is cut short ends."""
    end = at = 0
    while at < len(message) and message[at] == _RESOURCE_SPANS:
        length, shift, at = 0, 0, at + 1
        while at < len(message):
            byte = message[at]
            length, shift, at = length | (byte & 0x7F) << shift, shift + 7, at + 1
            if byte < 0x80:  # noqa: PLR2004  # the last byte of a varint
                break
        else:
            break
        at += length
        if at <= len(message):
            end = at
    return end
