"""The decompressed bytes of a file, read in order and within limits.

A compressed file that is cut short or damaged is read up to the damage.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from spanwise._engine import ZstdDecoder
from spanwise.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEAD_BYTES = 128
"""Enough to detect the format: more than a field whose length byte is a bracket."""
ZSTD = b"\x28\xb5\x2f\xfd"

_PIECE_BYTES = 1024 * 1024
_MAGIC = {b"\x1f\x8b": "gzip", ZSTD: "zstd"} | {
    b"\x78" + level: "zlib" for level in (b"\x01", b"\x5e", b"\x9c", b"\xda")
}
_ZLIB_WINDOWS = {"gzip": 31, "zlib": 15}
"""The parameter of zlib that names the container."""
_ZEROS = re.compile(rb"\0+")
_FREE_BYTES = 32 * 1024 * 1024
_MAX_RATIO = 500
"""Spans compress to a fortieth at best, because their ids are random."""


class _Decoder(Protocol):
    def decompress(self, data: bytes, max_bytes: int) -> tuple[bytes, int, bool]:
        """Returns up to `max_bytes` of content, the bytes consumed from `data`, and True at the end of the stream.

        Raises:
            DecodeError: the stream is damaged.
        """


def compression_of(head: bytes) -> str | None:
    """Returns the compression of a file that begins with `head`: `gzip`, `zstd`, `zlib` or None."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def read_head(path: Path, compression: str | None) -> bytes:
    """Returns the first bytes of a file, decompressed.

    Raises:
        DecodeError: the file cannot be decompressed.
        OSError: the file cannot be read.
    """
    content = Content(path, compression, lambda _: None)
    head = content.read(HEAD_BYTES)
    if not head:
        content.expect_end()
    return head


class Content:
    """The decompressed bytes of a file, read in order. Libraries can use it as a file object.

    Attributes:
        closed: always False; the file is closed with the object.
    """

    closed = False

    def __init__(self, path: Path, compression: str | None, report: Callable[[int], None]) -> None:
        """Opens the file.

        Args:
            path: the file.
            compression: as `compression_of` returns it.
            report: called with the position in the file, in compressed bytes, after each read.
        """
        self._file = pa.OSFile(str(path))
        self._report = report
        self._inflater = _Inflater(self._file, compression) if compression else None
        self._piece = b""
        self._used = 0

    def read(self, length: int) -> bytes:
        """Returns the next `length` bytes; fewer at the end, or where a compressed file is damaged.

        Raises:
            DecodeError: a compressed file has far more content than spans could have.
        """
        found = bytearray()
        while len(found) < length and (self._used < len(self._piece) or self._next_piece()):
            more = self._piece[self._used : self._used + length - len(found)]
            self._used += len(more)
            found += more
        return bytes(found)

    def peek(self, length: int) -> bytes:
        """Returns the next bytes without consuming them: `length` or slightly more, fewer at the end.

        Raises:
            DecodeError: as `read`.
        """
        self._piece, self._used = self.read(length) + self._piece[self._used :], 0
        return self._piece

    def skip_zeros(self, width: int) -> None:
        """Skips groups of `width` zeros, but not always all of them."""
        zeros = _ZEROS.match(self._piece, self._used)
        found = zeros.end() - zeros.start() if zeros else 0
        self._used += found - found % width

    def expect_end(self) -> None:
        """Checks that the content ends where the file does.

        Raises:
            DecodeError: a compressed file is cut short or damaged.
        """
        if self._inflater and self._inflater.damage:
            raise DecodeError(f"cannot be inflated: {self._inflater.damage}; everything before that was read")

    def _next_piece(self) -> bool:
        self._piece = self._inflater.read() if self._inflater else self._file.read(_PIECE_BYTES)
        self._used = 0
        self._report(self._file.tell())
        return bool(self._piece)


class _Inflater:
    """Decompresses the consecutive streams of a file.

    Attributes:
        damage: why reading stopped before the end of the file; empty if it has not.
    """

    def __init__(self, file: pa.OSFile, compression: str) -> None:
        self.damage = ""
        self._file = file
        self._compression = compression
        self._decoder: _Decoder | None = None
        self._pending = b""
        self._read = self._written = 0

    def read(self) -> bytes:
        """Returns the next piece of content; empty at the end.

        Raises:
            DecodeError: as `Content.read`.
        """
        while not self.damage:
            if not self._pending:
                self._pending = self._file.read(_PIECE_BYTES)
                self._read += len(self._pending)
            decoder = self._decoder = self._decoder or self._begin_stream()
            if decoder is None:
                return b""
            content = self._decompress(decoder)
            if content:
                return content
        return b""

    def _begin_stream(self) -> _Decoder | None:
        """Begins the next stream. Returns None at the end of the file."""
        if self._written:
            # Padding may follow the last stream.
            self._pending = self._pending.lstrip(b"\0")
        if not self._pending:
            return None
        return ZstdDecoder() if self._compression == "zstd" else _ZlibDecoder(self._compression)

    def _decompress(self, decoder: _Decoder) -> bytes:
        try:
            content, used, is_end = decoder.decompress(self._pending, _PIECE_BYTES)
        except DecodeError as error:
            self.damage = str(error)
            return b""
        if not self._pending and not content and not is_end:
            self.damage = "it is cut short"
        self._pending = self._pending[used:]
        self._written += len(content)
        if is_end:
            self._decoder = None
        if self._written > max(_FREE_BYTES, _MAX_RATIO * (self._read - len(self._pending))):
            raise DecodeError(
                f"expected a file to decompress to at most {_MAX_RATIO} times its size, found more; decompress it first"
            )
        return content


class _ZlibDecoder:
    def __init__(self, compression: str) -> None:
        self._inflate = zlib.decompressobj(_ZLIB_WINDOWS[compression])

    def decompress(self, data: bytes, max_bytes: int) -> tuple[bytes, int, bool]:
        before = self._inflate.copy()
        try:
            content = self._inflate.decompress(data, max_bytes)
        except zlib.error as error:
            if len(data) <= 1:
                raise DecodeError(str(error)) from error
            # A call that reaches damage drops the content before it.
            self._inflate = before
            return self.decompress(data[: len(data) // 2], max_bytes)
        rest = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
        return content, len(data) - len(rest), self._inflate.eof
