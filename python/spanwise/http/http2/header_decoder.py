"""Decodes the headers of HTTP/2 requests, with a limit on their number.

The decoder of `hpack` limits only the size of the headers. Its time grows with the number of headers and of table size
updates: 16 KiB of updates take 20 ms. All fields are therefore counted first.

Source: RFC 7541, section 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpack import Decoder
from hpack.exceptions import HPACKDecodingError
from hpack.hpack import decode_integer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hpack import HeaderTuple

MAX_HEADERS = 100
"""The limit of requests over HTTP/1. Exporters send fewer than 30 headers."""
MAX_SIZE_UPDATES = 2
"""After several changes of the table size, a client needs to send only the smallest size and the last one."""
_INDEXED, _LITERAL_WITH_INDEX, _SIZE_UPDATE = 0x80, 0x40, 0x20


class HeaderDecoder(Decoder):
    """Decodes the headers of one connection."""

    def decode(self, data: bytes, raw: bool = False) -> Iterable[HeaderTuple]:  # noqa: FBT001, FBT002  # the signature of the library
        """Returns the headers of a request.

        Raises:
            HPACKDecodingError: the headers are malformed, too large, or too many.
        """
        headers, updates = _count_fields(memoryview(data))
        if headers > MAX_HEADERS:
            raise HPACKDecodingError(f"a request has more than {MAX_HEADERS} headers")
        if updates > MAX_SIZE_UPDATES:
            raise HPACKDecodingError(f"the size of the header table is changed more than {MAX_SIZE_UPDATES} times")
        return super().decode(data, raw)


def _count_fields(block: memoryview) -> tuple[int, int]:
    """Returns the number of headers and of table size updates in a block. Counting stops one past the limit.

    Raises:
        HPACKDecodingError: a number in the block is malformed.
    """
    position = headers = updates = 0
    while position < len(block) and headers <= MAX_HEADERS and updates <= MAX_SIZE_UPDATES:
        first = block[position]
        if first & _INDEXED:
            position += decode_integer(block[position:], 7)[1]
            headers += 1
        elif first & _LITERAL_WITH_INDEX or not first & _SIZE_UPDATE:
            index, size = decode_integer(block[position:], 6 if first & _LITERAL_WITH_INDEX else 4)
            position += size
            for _ in range(1 if index else 2):  # the value, preceded by the name unless the table has it
                length, size = decode_integer(block[position:], 7)
                position += size + length
            headers += 1
        else:
            position += decode_integer(block[position:], 5)[1]
            updates += 1
    return headers, updates
