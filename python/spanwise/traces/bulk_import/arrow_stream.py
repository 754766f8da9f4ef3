"""Arrow IPC of unknown origin, as a stream or as a file.

Each message is measured before PyArrow decompresses it, and each batch is validated before it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.ipc

from spanwise._engine import ipc_size
from spanwise.errors import DecodeError
from spanwise.traces.bulk_import.expansion import ExpansionLimit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.traces.bulk_import.content import Content

STREAM_MAGIC = b"\xff\xff\xff\xff"
FILE_MAGIC = b"ARROW1"
_FILE_HEAD_BYTES = 8
_MAX_MESSAGE_BYTES = 1024 * 1024 * 1024
"""An Arrow IPC message is read as a whole."""
_CHUNK_BYTES = 1024 * 1024


def batches_of_arrow(content: Content, *, is_file: bool) -> Iterator[pa.RecordBatch]:
    """Yields the record batches of Arrow IPC.

    Args:
        content: the file, at its beginning.
        is_file: True for an Arrow file: a stream between a magic number and a footer. The footer is not read.

    Raises:
        DecodeError: a message is too large, or the file is cut short.
        pyarrow.ArrowException: a message is malformed, or a batch invalid.
    """
    if is_file:
        content.read(_FILE_HEAD_BYTES)
    for batch in pa.ipc.open_stream(pa.PythonFile(_MeasuredMessages(content), mode="r")):
        batch.validate(full=True)
        yield batch
    end = b""
    while is_file and (chunk := content.read(_CHUNK_BYTES)):
        end = (end + chunk)[-len(FILE_MAGIC) :]
    if is_file and end != FILE_MAGIC:
        raise DecodeError("the file is cut short; everything before that was read")


class _MeasuredMessages:
    """The same stream as a file for PyArrow, without oversized messages."""

    closed = False

    def __init__(self, content: Content) -> None:
        self._messages = pa.ipc.MessageReader.open_stream(pa.PythonFile(_BoundedReads(content), mode="r"))
        self._limit = ExpansionLimit()
        self._message = memoryview(b"")

    def read(self, length: int) -> bytes:
        """Returns up to `length` bytes, empty at the end."""
        found = bytearray()
        while len(found) < length and (self._message or self._next_message()):
            wanted = length - len(found)
            found += self._message[:wanted]
            self._message = self._message[wanted:]
        return bytes(found)

    def _next_message(self) -> bool:
        try:
            message = self._messages.read_next_message()
        except StopIteration:
            return False
        body = message.body or pa.py_buffer(b"")
        size, rows = ipc_size(message.metadata.to_pybytes(), body.to_pybytes())
        if size > _MAX_MESSAGE_BYTES:
            raise DecodeError(f"expected record batches of up to {_MAX_MESSAGE_BYTES} bytes, found one of {size}")
        self._limit.add(message.metadata.size + body.size, size, rows)
        self._message = memoryview(message.serialize())
        return True


class _BoundedReads:
    """A file for PyArrow, which requests the number of bytes that a message declares."""

    closed = False

    def __init__(self, content: Content) -> None:
        self._content = content

    def read(self, length: int) -> bytes:
        """Returns up to `length` bytes, empty at the end."""
        if length > _MAX_MESSAGE_BYTES:
            raise DecodeError(f"expected messages of up to {_MAX_MESSAGE_BYTES} bytes, found one of {length}")
        return self._content.read(length)
