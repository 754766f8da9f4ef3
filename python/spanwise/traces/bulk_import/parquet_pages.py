"""The column chunks and page headers of a Parquet file, read without the pages.

A reader reserves the memory that a header declares, and a page of a few hundred bytes can declare gigabytes of values.
The headers are therefore read first. They use Thrift's compact protocol (https://github.com/apache/parquet-format,
`parquet.thrift`). PyArrow's own view of a column chunk ends the process if its statistics are damaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_VARINT_BYTES = 10
_MAX_DEPTH = 16
_FOOTER_END_BYTES = 8
_BYTE_ARRAY = 6
_SHORT_LIST_END = 15
_BOOLEANS = (1, 2)
_BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = 3, (4, 5, 6), 7, 8, (9, 10), 12
_DELTA_BYTE_ARRAY = 7
_ENCODING_OF_PAGE = {5: 2, 7: 2, 8: 4}
"""For each page header field that describes the page's content, the id of the encoding field in it."""


@dataclass(frozen=True)
class ColumnChunk:
    """The place of a column chunk in its file.

    Attributes:
        begin: the offset of its first page.
        end: the offset of its end.
        has_dictionary_of_bytes: True if its values are byte arrays that pages may take from a dictionary.
    """

    begin: int
    end: int
    has_dictionary_of_bytes: bool


@dataclass(frozen=True)
class PageHeader:
    """The header of one page.

    Attributes:
        size: the bytes of the decompressed page.
        values: the number of its values, nulls included; 0 for a dictionary.
        shares_prefixes: True if values may reuse the prefix of the previous value without bytes of their own.
    """

    size: int
    values: int
    shares_prefixes: bool


def column_chunks(file: memoryview) -> list[list[ColumnChunk]]:
    """Returns the column chunks of each row group, in the order of the leaf columns.

    Raises:
        DecodeError: the footer is malformed, or a chunk lies outside of the file.
    """
    end = len(file) - _FOOTER_END_BYTES
    length = int.from_bytes(file[max(end, 0) : end + 4], "little")
    if not 0 <= length <= end:
        raise DecodeError("expected Parquet, found a footer outside of the file")
    footer = _CompactReader(file[:end], end - length).struct(0)
    groups = [_struct_of(group) for group in _list_of(footer.get(4))]
    return [[_chunk_of(_struct_of(column), len(file)) for column in _list_of(group.get(1))] for group in groups]


def _chunk_of(column: dict[int, object], file_size: int) -> ColumnChunk:
    described = _struct_of(column.get(3))
    size, begin, dictionary = described.get(7), described.get(9), described.get(11)
    if not (isinstance(size, int) and isinstance(begin, int)):
        raise DecodeError("expected Parquet, found a column without its place")
    if isinstance(dictionary, int) and 0 < dictionary < begin:
        begin = dictionary
    if not 0 <= begin <= begin + size <= file_size:
        raise DecodeError("expected Parquet, found a column outside of the file")
    return ColumnChunk(begin, begin + size, dictionary is not None and described.get(1) == _BYTE_ARRAY)


def _struct_of(value: object) -> dict[int, object]:
    return value if isinstance(value, dict) else {}


def _list_of(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def page_headers(chunk: memoryview) -> Iterator[PageHeader]:
    """Yields the headers of the pages of a column chunk.

    Raises:
        DecodeError: a header is malformed.
    """
    at = 0
    while at < len(chunk):
        reader = _CompactReader(chunk, at)
        fields = reader.struct(0)
        size, compressed = fields.get(2), fields.get(3)
        content = next(((field, fields[field]) for field in _ENCODING_OF_PAGE if field in fields), (0, {}))
        described = content[1] if isinstance(content[1], dict) else {}
        values = described.get(1, 0)
        if not (isinstance(size, int) and isinstance(compressed, int) and isinstance(values, int)):
            raise DecodeError("expected Parquet, found a page header without its sizes")
        if min(size, compressed, values) < 0:
            raise DecodeError("expected Parquet, found a page of negative size")
        encoding = described.get(_ENCODING_OF_PAGE.get(content[0], 0))
        is_dictionary = content[0] == 7  # noqa: PLR2004  # the id of its field
        yield PageHeader(size, 0 if is_dictionary else values, encoding == _DELTA_BYTE_ARRAY)
        at = reader.at + compressed


class _CompactReader:
    """Reads a struct of Thrift's compact protocol."""

    def __init__(self, data: memoryview, at: int) -> None:
        self._data = data
        self.at = at

    def struct(self, depth: int) -> dict[int, object]:
        """Returns the integers, structs and lists of a struct by their field ids."""
        if depth > _MAX_DEPTH:
            raise DecodeError("expected Parquet, found metadata nested too deep")
        fields: dict[int, object] = {}
        field = 0
        while head := self._byte():
            delta, kind = head >> 4, head & 0x0F
            field = field + delta if delta else self._zigzag()
            fields[field] = self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int, *, in_list: bool = False) -> object:
        if kind in _BOOLEANS:
            return self._byte() if in_list else None
        if kind == _BYTE:
            return self._byte()
        if kind in _INTEGERS:
            return self._zigzag()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind == _DOUBLE:
            self._skip(8)
        elif kind == _BINARY:
            self._skip(self._varint())
        elif kind in _LISTS:
            return self._list(depth)
        else:
            raise DecodeError(f"expected Parquet, found metadata with a field of type {kind}")
        return None

    def _list(self, depth: int) -> list[object]:
        head = self._byte()
        length, kind = head >> 4, head & 0x0F
        if depth > _MAX_DEPTH:
            raise DecodeError("expected Parquet, found metadata nested too deep")
        count = self._varint() if length == _SHORT_LIST_END else length
        return [self._value(kind, depth + 1, in_list=True) for _ in range(count)]

    def _zigzag(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)

    def _varint(self) -> int:
        number = 0
        for shift in range(_MAX_VARINT_BYTES):
            byte = self._byte()
            number |= (byte & 0x7F) << 7 * shift
            if byte < 0x80:  # noqa: PLR2004  # the last byte of a varint
                return number
        raise DecodeError(f"expected Parquet, found a number of over {_MAX_VARINT_BYTES} bytes")

    def _byte(self) -> int:
        if self.at >= len(self._data):
            raise DecodeError("expected Parquet, found metadata that is cut short")
        self.at += 1
        return self._data[self.at - 1]

    def _skip(self, length: int) -> None:
        if length > len(self._data) - self.at:
            raise DecodeError("expected Parquet, found metadata that is cut short")
        self.at += length
