"""HTTP/2 headers: their number is limited before they are decoded."""

from __future__ import annotations

import pytest
from hpack import Encoder
from hpack.exceptions import HPACKDecodingError, HPACKError, OversizedHeaderListError
from hypothesis import given
from hypothesis import strategies as st

from spanwise.http.http2.header_decoder import MAX_HEADERS, MAX_SIZE_UPDATES, HeaderDecoder

NAMES = st.text(st.sampled_from("abc-"), min_size=1, max_size=8).map(str.encode)
SIZES = {"a byte": b"\x20", "several bytes": b"\x3f\x81\x01", "a padded number": b"\x3f\x80\x80\x00"}


@given(st.lists(st.lists(st.tuples(NAMES, st.binary(max_size=40)), min_size=1, max_size=10), max_size=4))
def test_headers_are_read_back(requests: list[list[tuple[bytes, bytes]]]) -> None:
    encoder, decoder = Encoder(), HeaderDecoder(16 * 1024)
    for headers in requests:
        assert [tuple(header) for header in decoder.decode(encoder.encode(headers), raw=True)] == headers


@pytest.mark.parametrize("size", SIZES)
def test_the_size_of_the_table_changes_a_few_times_only(size: str) -> None:
    block = Encoder().encode([(b"a", b"b")])
    at_the_limit = SIZES[size] * MAX_SIZE_UPDATES
    assert len(list(HeaderDecoder(1024).decode(at_the_limit + block, raw=True))) == 1
    for count in (MAX_SIZE_UPDATES + 1, 10_000):
        with pytest.raises(HPACKDecodingError, match="changed more than 2 times"):
            HeaderDecoder(1024).decode(SIZES[size] * count + block, raw=True)


@pytest.mark.parametrize("block", [b"", b"\x20", b"\x3f", b"\x3f\xff\xff"])
def test_a_block_that_ends_early_is_empty_or_rejected(block: bytes) -> None:
    try:
        assert list(HeaderDecoder(1024).decode(block, raw=True)) == []
    except HPACKDecodingError:
        assert block.startswith(b"\x3f")


@pytest.mark.parametrize(
    "field",
    [b"\x82", b"\x00\x01a\x01b", b"\x40\x01a\x01b", b"\x10\x01a\x01b", b"\x04\x01/", b"\x44\x01/", b"\x0f\x10\x01/"],
    ids=[
        "indexed",
        "literal",
        "literal for the table",
        "never indexed",
        "known name",
        "known name for the table",
        "long",
    ],
)
def test_the_number_of_headers_is_limited(field: bytes) -> None:
    assert len(list(HeaderDecoder(16 * 1024).decode(field * MAX_HEADERS, raw=True))) == MAX_HEADERS
    for count in (MAX_HEADERS + 1, 4_000):
        with pytest.raises(HPACKDecodingError, match="more than 100 headers"):
            HeaderDecoder(16 * 1024).decode(field * count, raw=True)


@given(st.binary(max_size=60))
def test_any_block_is_read_or_rejected(block: bytes) -> None:
    try:
        found = list(HeaderDecoder(1024).decode(block, raw=True))
    except HPACKError:
        return
    assert len(found) <= len(block)


def test_the_size_of_all_headers_is_limited() -> None:
    with pytest.raises(OversizedHeaderListError):
        HeaderDecoder(1024).decode(Encoder().encode([(b"a", b"b")]) * 40, raw=True)
