"""The messages of a file of OTLP or of JSON, which is read piece by piece and may be compressed as a whole.

A file of OTLP holds one message, one JSON message on each line, or length-prefixed messages as the OpenTelemetry
Collector's file exporter writes them: each message follows its length as a big-endian 32-bit integer, is protobuf or
JSON, and may be compressed with zstd. Any other JSON is one document, or a record on each line.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import msgspec
import pyarrow as pa

from spanwise._engine import is_otlp_json
from spanwise.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HEAD_BYTES = 128
"""Enough to say of which format a file is: more than a field whose length is a bracket."""
PROTOBUF = "application/x-protobuf"
JSON = "application/json"

_CHUNK_BYTES = 8 * 1024 * 1024
_JSON_HEAD_BYTES = 64 * 1024
_ZSTD = b"\x28\xb5\x2f\xfd"
_MAGIC = {b"\x1f\x8b": "gzip", _ZSTD: "zstd"} | {
    b"\x78" + level: "zlib" for level in (b"\x01", b"\x5e", b"\x9c", b"\xda")
}
_RESOURCE_SPANS_TAG = 0x0A  # field 1 of `TracesData`, length-delimited
_CONTROL_CHARACTERS = bytes(set(range(0x20)) - set(b"\t\n\r"))
_PREFIX_BYTES = 4
_FIRST_BYTE_END = (64 * 1024 * 1024) >> 24
_MAX_MESSAGE_BYTES = 256 * 1024 * 1024
"""A length-prefixed message is read as a whole."""


@dataclass(frozen=True)
class Message:
    """A part of a file that can be decoded by itself.

    Attributes:
        content: its bytes.
        content_type: how they are encoded.
        is_otlp: it is an OTLP message, and not records.
        lines: it is records, one on each line.
    """

    content: bytes
    content_type: str = JSON
    is_otlp: bool = True
    lines: bool = False


class _ByteReader(Protocol):
    def read(self, length: int) -> bytes:
        """Returns up to `length` bytes, empty at the end."""


def compression_of(head: bytes) -> str | None:
    """Returns the compression of a file that begins with `head`: `gzip`, `zstd`, `zlib` or None."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def read_head(path: Path, compression: str | None) -> bytes:
    """Returns the first bytes of a file, decompressed.

    Raises:
        DecodeError: the file cannot be decompressed.
        OSError: the file cannot be read.
    """
    with pa.OSFile(str(path)) as file:
        return _decompressed(file, compression).read(HEAD_BYTES)


class Content:
    """The decompressed bytes of a file, read in order.

    Attributes:
        stream: the reader below, for what reads the file by itself.
    """

    def __init__(self, path: Path, compression: str | None, report: Callable[[int], None]) -> None:
        """Opens the file.

        Args:
            path: the file.
            compression: as `compression_of` returns it.
            report: called with the position in the file, in compressed bytes, after each read.
        """
        self._file = pa.OSFile(str(path))
        self.stream = _decompressed(self._file, compression)
        self._report = report

    def read(self, length: int) -> bytes:
        """Returns up to `length` bytes, empty at the end."""
        chunk: bytes = self.stream.read(length)
        self._report(self._file.tell())
        return chunk

    def rest(self) -> bytes:
        """Returns everything that was not read yet."""
        return b"".join(iter(lambda: self.read(_CHUNK_BYTES), b""))


class _ZlibReader:
    """A reader that decompresses a zlib stream."""

    def __init__(self, stream: _ByteReader) -> None:
        self._stream = stream
        self._inflate = zlib.decompressobj()
        self._pending = b""

    def read(self, length: int) -> bytes:
        while not self._inflate.eof:
            pending = self._pending or self._stream.read(_CHUNK_BYTES)
            try:
                inflated = self._inflate.decompress(pending, length)
            except zlib.error as error:
                raise DecodeError(f"cannot be inflated: {error}") from error
            self._pending = self._inflate.unconsumed_tail
            if inflated:
                return inflated
            if not pending:
                raise DecodeError("cannot be inflated: the stream is cut short")
        return b""


def _decompressed(file: pa.OSFile, compression: str | None) -> _ByteReader:
    if compression == "zlib":
        return _ZlibReader(file)
    stream: _ByteReader = file if compression is None else pa.CompressedInputStream(file, compression)
    return stream


def messages(content: Content, head: bytes) -> Iterator[Message] | None:
    """Returns the messages of a file; None if it is neither OTLP nor JSON.

    Args:
        content: the file, of which nothing was read yet.
        head: its first bytes, decompressed.
    """
    if _is_json_head(head):
        return _json_messages(content)
    if head.startswith(bytes([_RESOURCE_SPANS_TAG])):
        return (Message(message, PROTOBUF) for message in _protobuf_messages(content))
    # Messages are shorter than 64 MiB, or they would not have been sent: that bounds the first byte of a length.
    if len(head) > _PREFIX_BYTES and head[0] < _FIRST_BYTE_END and _kind(head[_PREFIX_BYTES:]) is not None:
        return _prefixed_messages(content)
    return None


def _is_json_head(head: bytes) -> bool:
    """Returns whether a file that begins with `head` is JSON.

    The tag of the first field in protobuf is a line break in JSON, and a length of 91 or 123 a bracket. But a field as
    short as that has a tag that is a control character, which JSON has none of (RFC 8259, section 7).
    """
    return head.lstrip().startswith((b"{", b"[")) and head.translate(None, _CONTROL_CHARACTERS) == head


def _kind(message: bytes) -> str | None:
    if message.startswith(_ZSTD):
        return "zstd"
    return {b"{": JSON, bytes([_RESOURCE_SPANS_TAG]): PROTOBUF}.get(message[:1])


def _prefixed_messages(content: Content) -> Iterator[Message]:
    """Yields length-prefixed messages."""
    while prefix := _up_to(content, _PREFIX_BYTES):
        length = int.from_bytes(prefix, "big")
        if length > _MAX_MESSAGE_BYTES:
            raise DecodeError(f"expected messages of up to {_MAX_MESSAGE_BYTES} bytes, found one of {length}")
        message = _up_to(content, length)
        if len(prefix) < _PREFIX_BYTES or len(message) < length:
            raise DecodeError("the last message is cut short")
        if message.startswith(_ZSTD):
            message = pa.CompressedInputStream(pa.BufferReader(message), "zstd").read(_MAX_MESSAGE_BYTES + 1)
            if len(message) > _MAX_MESSAGE_BYTES:
                raise DecodeError(f"expected messages of up to {_MAX_MESSAGE_BYTES} bytes, found a longer one")
        if message:
            yield Message(message, JSON if _kind(message) == JSON else PROTOBUF)


def _up_to(content: Content, length: int) -> bytes:
    """Returns the next `length` bytes, fewer at the end."""
    found = bytearray()
    while len(found) < length and (chunk := content.read(min(length - len(found), _CHUNK_BYTES))):
        found += chunk
    return bytes(found)


def _json_messages(content: Content) -> Iterator[Message]:
    """Yields the messages of a file that holds one document, or one on each line."""
    chunks = [content.read(_CHUNK_BYTES)]
    while chunks[-1] and b"\n" not in chunks[-1]:
        chunks.append(content.read(_CHUNK_BYTES))
    pending = bytearray().join(chunks)
    first, line_break, _ = pending.partition(b"\n")
    if not line_break or not _is_json(first):
        document = bytes(pending) + content.rest()
        yield Message(document, is_otlp=_is_otlp(document))
        return
    is_otlp = _is_otlp(bytes(first))
    while pending:
        end = pending.rfind(b"\n") + 1
        chunk = content.read(_CHUNK_BYTES)
        lines, pending = (pending[:end], pending[end:] + chunk) if chunk else (pending, bytearray())
        if is_otlp:
            yield from (Message(bytes(line)) for line in lines.split(b"\n") if line.strip())
        elif lines:
            yield Message(bytes(lines), is_otlp=False, lines=True)


def _is_otlp(document: bytes) -> bool:
    # The name of its first member decides.
    head = document[:_JSON_HEAD_BYTES].lstrip()
    return head.startswith(b"{") and is_otlp_json(head)


def _is_json(text: bytearray) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError:
        return False
    return True


def _protobuf_messages(content: Content) -> Iterator[bytes]:
    """Yields one protobuf message in parts of about a chunk.

    Protobuf concatenates: a run of whole `resource_spans` fields is a message by itself.
    """
    pending = bytearray()
    while chunk := content.read(_CHUNK_BYTES):
        pending += chunk
        end = _whole_fields(pending)
        if end:
            yield bytes(pending[:end])
            del pending[:end]
    if pending:
        yield bytes(pending)


def _whole_fields(message: bytearray) -> int:
    """Returns the end of the last complete `resource_spans` field of a truncated message."""
    end = at = 0
    while at < len(message) and message[at] == _RESOURCE_SPANS_TAG:
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
