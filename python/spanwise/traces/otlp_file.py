"""The messages of an OTLP file: one, one a line, or one after its length; all of it may be compressed.

Read piece by piece. Lengths are as the OpenTelemetry Collector's file exporter writes them: four bytes, the highest
first, before each message, which is protobuf or JSON, with zstd around it if the exporter was told so.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Protocol

import msgspec
import pyarrow as pa

from spanwise.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HEAD = 16
PROTOBUF = "application/x-protobuf"
JSON = "application/json"

_PIECE = 8 * 1024 * 1024
_ZSTD = b"\x28\xb5\x2f\xfd"
_COMPRESSED = {b"\x1f\x8b": "gzip", _ZSTD: "zstd"} | {
    b"\x78" + level: "zlib" for level in (b"\x01", b"\x5e", b"\x9c", b"\xda")
}
_RESOURCE_SPANS = 0x0A  # field 1 of `TracesData`, length-delimited
_LENGTH = 4
_LONGEST = 256 * 1024 * 1024
"""A message with its length before it is read as a whole."""


class _Stream(Protocol):
    def read(self, length: int) -> bytes:
        """Returns up to `length` bytes; none at the end."""


def compression_of(head: bytes) -> str | None:
    """Returns what a file that begins with `head` is compressed with, if it is."""
    return next((name for magic, name in _COMPRESSED.items() if head.startswith(magic)), None)


def head_of(path: Path, compression: str | None) -> bytes:
    """Returns the first bytes of a file, inflated.

    Raises:
        DecodeError: it cannot be inflated.
        OSError: it cannot be read.
    """
    with pa.OSFile(str(path)) as file:
        return _inflated(file, compression).read(HEAD)


class Content:
    """The bytes of a file as they come, inflated."""

    def __init__(self, path: Path, compression: str | None, tell: Callable[[int], None]) -> None:
        """Opens the file; `tell` is told how far it is read."""
        self._file = pa.OSFile(str(path))
        self.stream = _inflated(self._file, compression)
        self._tell = tell

    def read(self, length: int) -> bytes:
        """Returns up to `length` bytes; none at the end."""
        piece: bytes = self.stream.read(length)
        self._tell(self._file.tell())
        return piece

    def rest(self) -> bytes:
        """Returns all that was not read."""
        return b"".join(iter(lambda: self.read(_PIECE), b""))


class _Inflating:
    """A zlib stream, inflated as it is read."""

    def __init__(self, stream: _Stream) -> None:
        self._stream = stream
        self._inflate = zlib.decompressobj()
        self._pending = b""

    def read(self, length: int) -> bytes:
        while not self._inflate.eof:
            pending = self._pending or self._stream.read(_PIECE)
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


def _inflated(file: pa.OSFile, compression: str | None) -> _Stream:
    if compression == "zlib":
        return _Inflating(file)
    stream: _Stream = file if compression is None else pa.CompressedInputStream(file, compression)
    return stream


def messages(content: Content, head: bytes) -> Iterator[tuple[bytes, str]] | None:
    """Returns the messages of a file that begins with `head`, each with its content type; None if it is no OTLP."""
    if head.lstrip().startswith(b"{"):
        return ((message, JSON) for message in _json_messages(content))
    if head.startswith(bytes([_RESOURCE_SPANS])):
        return ((message, PROTOBUF) for message in _protobuf_messages(content))
    # Every message is shorter than 64 MB, or it would not have been sent.
    if len(head) > _LENGTH and head[0] < _LENGTH and _kind(head[_LENGTH:]) is not None:
        return _measured_messages(content)
    return None


def _kind(message: bytes) -> str | None:
    if message.startswith(_ZSTD):
        return "zstd"
    return {b"{": JSON, bytes([_RESOURCE_SPANS]): PROTOBUF}.get(message[:1])


def _measured_messages(content: Content) -> Iterator[tuple[bytes, str]]:
    """Yields messages that stand behind their lengths."""
    while measure := _up_to(content, _LENGTH):
        length = int.from_bytes(measure, "big")
        if length > _LONGEST:
            raise DecodeError(f"expected messages of up to {_LONGEST} bytes, found one of {length}")
        message = _up_to(content, length)
        if len(measure) < _LENGTH or len(message) < length:
            raise DecodeError("the last message is cut short")
        if message.startswith(_ZSTD):
            message = pa.CompressedInputStream(pa.BufferReader(message), "zstd").read(_LONGEST + 1)
            if len(message) > _LONGEST:
                raise DecodeError(f"expected messages of up to {_LONGEST} bytes, found a longer one")
        if message:
            yield message, JSON if _kind(message) == JSON else PROTOBUF


def _up_to(content: Content, length: int) -> bytes:
    """Returns the next `length` bytes; fewer at the end."""
    pieces = bytearray()
    while len(pieces) < length and (piece := content.read(min(length - len(pieces), _PIECE))):
        pieces += piece
    return bytes(pieces)


def _json_messages(content: Content) -> Iterator[bytes]:
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


def _protobuf_messages(content: Content) -> Iterator[bytes]:
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
