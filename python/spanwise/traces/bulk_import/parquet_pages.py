"""The page headers of a Parquet file, read without the pages.

A reader reserves the memory that a header declares, and a page of a few hundred bytes can declare gigabytes of values.
The headers are therefore read first. They use Thrift's compact protocol (https://github.com/apache/parquet-format,
`parquet.thrift`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwise.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_VARINT_BYTES = 10
_MAX_DEPTH = 8
_SHORT_LIST_END = 15
_BOOLEANS = (1, 2)
_BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _STRUCT = 3, (4, 5, 6), 7, 8, (9, 10), 12
_DELTA_BYTE_ARRAY = 7
_ENCODING_OF_PAGE = {5: 2, 7: 2, 8: 4}
"""For each page header field that describes the page's content, the id of the encoding field in it."""


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
        """Returns the integers and structs of a struct by their field ids."""
        if depth > _MAX_DEPTH:
            raise DecodeError("expected Parquet, found a page header nested too deep")
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
            self._list(depth)
        else:
            raise DecodeError(f"expected Parquet, found a page header with a field of type {kind}")
        return None

    def _list(self, depth: int) -> None:
        head = self._byte()
        length, kind = head >> 4, head & 0x0F
        if depth > _MAX_DEPTH:
            raise DecodeError("expected Parquet, found a page header nested too deep")
        for _ in range(self._varint() if length == _SHORT_LIST_END else length):
            self._value(kind, depth + 1, in_list=True)

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
            raise DecodeError("expected Parquet, found a page header that is cut short")
        self.at += 1
        return self._data[self.at - 1]

    def _skip(self, length: int) -> None:
        self.at += length
