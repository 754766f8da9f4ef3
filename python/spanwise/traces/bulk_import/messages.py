"""The messages of an OTLP or JSON file, read piece by piece.

An OTLP file has one of three forms: a single message, one JSON message per line, or length-prefixed messages. The
OpenTelemetry Collector's file exporter writes the last form: each message follows its length as a big-endian 32-bit
integer. Such a message is protobuf or JSON, and may be compressed with zstd. Any other JSON is a series of documents,
or a record per line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise._engine import ZstdDecoder, split_json
from spanwise.errors import DecodeError
from spanwise.traces.bulk_import.content import ZSTD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.traces.bulk_import.content import Content

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
MAX_MESSAGE_BYTES = 256 * 1024 * 1024
"""A message, a line or a document is read as a whole."""

_CHUNK_BYTES = 8 * 1024 * 1024
_RESOURCE_SPANS_TAG = 0x0A  # field 1 of `TracesData`, length-delimited
_MAX_VARINT_BYTES = 10
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CONTROL_CHARACTERS = bytes(set(range(0x20)) - set(b"\t\n\r"))
_PREFIX_BYTES = 4
_FIRST_BYTE_END = (64 * 1024 * 1024) >> 24


@dataclass(frozen=True)
class Message:
    """A part of a file that can be decoded independently.

    Attributes:
        content: its bytes.
        content_type: their encoding.
        is_otlp: True for an OTLP message, False for records.
        lines: True for records, one per line.
        number: the number of its first line, or its number among the messages of the file, from 1; 0 if a file has no
            such numbers.
        unit: the unit of `number`: `line` or `message`.
    """

    content: bytes
    content_type: str = JSON
    is_otlp: bool = True
    lines: bool = False
    number: int = 0
    unit: str = "line"


@dataclass(frozen=True)
class SkippedMessage:
    """A part of a file without spans.

    Attributes:
        number: as of a message.
        reason: why it cannot be read; empty for a message of another signal.
        signal: the other signal: `metrics`, `logs` or `profiles`.
        unit: as of a message.
        count: the number of such parts.
    """

    number: int
    reason: str = ""
    signal: str = ""
    unit: str = "line"
    count: int = 1


def messages(content: Content, head: bytes) -> Iterator[Message | SkippedMessage] | None:
    """Returns the messages of a file; None if it is neither OTLP nor JSON.

    Args:
        content: the file, at its beginning.
        head: its first bytes, decompressed.
    """
    if _is_json_head(head):
        return _json_messages(content)
    if head.startswith(bytes([_RESOURCE_SPANS_TAG])):
        return (Message(message, PROTOBUF) for message in _protobuf_messages(content))
    # Exporters send only messages shorter than 64 MiB, which limits the first byte of a length.
    if len(head) > _PREFIX_BYTES and head[0] < _FIRST_BYTE_END and _kind(head[_PREFIX_BYTES:]) is not None:
        return _prefixed_messages(content)
    beginning = content.peek(_CHUNK_BYTES)
    return _json_messages(content) if _has_json_line(beginning) else None


def _is_json_head(head: bytes) -> bool:
    """Returns True if a file that begins with `head` is JSON.

    The tag of the first protobuf field is a line break in JSON, and a length of 91 or 123 is a bracket. In such a short
    field, the next byte is a tag and a control character, which JSON does not allow (RFC 8259, section 7).
    """
    text = head.removeprefix(_BYTE_ORDER_MARK)
    return text.lstrip().startswith((b"{", b"[")) and text.translate(None, _CONTROL_CHARACTERS) == text


def _has_json_line(beginning: bytes) -> bool:
    """Returns True if objects begin half of the first lines. The others may be damaged."""
    lines = [line.lstrip(b"\0 \t\r").removeprefix(_BYTE_ORDER_MARK) for line in beginning.split(b"\n")]
    objects = sum(line.startswith(b'{"') for line in lines)
    return objects > 0 and 2 * objects >= sum(map(bool, lines))


def _kind(message: bytes) -> str | None:
    if message.startswith(ZSTD):
        return "zstd"
    return {b"{": JSON, bytes([_RESOURCE_SPANS_TAG]): PROTOBUF}.get(message[:1])


def _prefixed_messages(content: Content) -> Iterator[Message | SkippedMessage]:
    """Yields length-prefixed messages."""
    number = 0
    while prefix := content.read(_PREFIX_BYTES):
        number += 1
        length = int.from_bytes(prefix, "big")
        if length > MAX_MESSAGE_BYTES:
            raise DecodeError(f"expected messages of up to {MAX_MESSAGE_BYTES} bytes, found one of {length}")
        message = content.read(length)
        if len(prefix) < _PREFIX_BYTES or len(message) < length:
            raise DecodeError("the last message is cut short")
        if not message:
            # A machine that lost power may leave a block of zeros, which read as empty lengths.
            content.skip_zeros(_PREFIX_BYTES)
            continue
        try:
            message = _plain(message)
        except DecodeError as error:
            yield SkippedMessage(number, str(error), unit="message")
        else:
            yield Message(message, JSON if _kind(message) == JSON else PROTOBUF, number=number, unit="message")


def _plain(message: bytes) -> bytes:
    """Returns the decompressed message."""
    if not message.startswith(ZSTD):
        return message
    decoder, found, is_end = ZstdDecoder(), bytearray(), False
    while message or not is_end:
        content, used, is_end = decoder.decompress(message, _CHUNK_BYTES)
        found += content
        if len(found) > MAX_MESSAGE_BYTES:
            raise DecodeError(f"expected messages of up to {MAX_MESSAGE_BYTES} bytes, found a longer one")
        if not used and not content and not is_end:
            raise DecodeError("the message is cut short")
        message = message[used:]
    return bytes(found)


def _json_messages(content: Content) -> Iterator[Message | SkippedMessage]:
    """Yields the messages of a JSON file. Each value is a message, on one line or several."""
    pending, line = b"", 1
    while True:
        # The chunk doubles with the remainder, so that a long value is not rescanned for each chunk.
        chunk = content.read(max(_CHUNK_BYTES, min(len(pending), MAX_MESSAGE_BYTES - len(pending))))
        pending += chunk
        is_full = len(pending) > MAX_MESSAGE_BYTES and bool(chunk)
        text = pending[: pending.rfind(b"\n") + 1] if is_full else pending
        if is_full and not text:
            yield SkippedMessage(line, f"expected lines of up to {MAX_MESSAGE_BYTES} bytes, found a longer one")
            pending, line = _next_line(content), line + 1
            continue
        parts, used, lines, unlisted = split_json(text, is_whole=is_full or not chunk)
        for kind, begin, end, lines_before, detail in parts:
            number = line + lines_before
            match kind:
                case "rejected":
                    yield SkippedMessage(number, reason=detail)
                case "other_signal":
                    yield SkippedMessage(number, signal=detail)
                case _:
                    yield Message(pending[begin:end], JSON, kind == "otlp", kind == "lines", number)
        if unlisted:
            yield SkippedMessage(line, reason="others", count=unlisted)
        if not chunk:
            return
        pending, line = pending[used:], line + lines


def _next_line(content: Content) -> bytes:
    """Returns the beginning of the next line."""
    while chunk := content.read(_CHUNK_BYTES):
        _, line_break, rest = chunk.partition(b"\n")
        if line_break:
            return rest
    return b""


def _protobuf_messages(content: Content) -> Iterator[bytes]:
    """Yields one protobuf message in parts of about a chunk.

    Protobuf messages concatenate: a series of complete `resource_spans` fields is a message of its own.
    """
    pending = bytearray()
    while chunk := content.read(_CHUNK_BYTES):
        pending += chunk
        end = _whole_fields(pending)
        if end:
            yield bytes(pending[:end])
            del pending[:end]
        if len(pending) > MAX_MESSAGE_BYTES:
            raise DecodeError(f"expected `resource_spans` of up to {MAX_MESSAGE_BYTES} bytes, found longer ones")
    if pending:
        yield bytes(pending)


def _whole_fields(message: bytearray) -> int:
    """Returns the end of the last complete `resource_spans` field of a truncated message."""
    end = at = 0
    while at < len(message) and message[at] == _RESOURCE_SPANS_TAG:
        length, at = 0, at + 1
        for shift, byte in enumerate(message[at : at + _MAX_VARINT_BYTES]):
            length |= (byte & 0x7F) << 7 * shift
            if byte < 0x80:  # noqa: PLR2004  # the last byte of a varint
                at += shift + 1 + length
                break
        else:
            break
        if at <= len(message):
            end = at
    return end
