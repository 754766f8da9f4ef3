"""Laws of splitting a file into messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from spanwise.traces.bulk_import import messages as module
from spanwise.traces.bulk_import.content import Content, read_head
from spanwise.traces.bulk_import.messages import JSON, PROTOBUF, Message, messages

if TYPE_CHECKING:
    from pathlib import Path

SCOPE_SPANS_TAG = b"\x12"
SPAN = Span(trace_id=bytes(range(1, 17)), span_id=bytes(range(1, 9)))


def field(content: bytes) -> bytes:
    """Returns a `resource_spans` field."""
    length, header = len(content), bytearray(b"\x0a")
    while length > 0x7F:
        header.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes([*header, length]) + content


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("messages") / "file"


def messages_of(file: Path) -> list[Message]:
    found = list(messages(Content(file, None, lambda _: None), read_head(file, None)) or ())
    assert all(isinstance(message, Message) for message in found)
    return [message for message in found if isinstance(message, Message)]


@given(
    contents=st.lists(st.binary(max_size=300), min_size=1, max_size=8),
    chunk_bytes=st.integers(1, 700),
    cut=st.integers(0, 3),
    other=st.binary(max_size=20),
)
@example(contents=[b""], chunk_bytes=1, cut=3, other=b"\0")
def test_protobuf_is_split_between_fields_and_nothing_is_lost(
    file: Path, contents: list[bytes], chunk_bytes: int, cut: int, other: bytes
) -> None:
    fields = [field(SCOPE_SPANS_TAG + content) for content in contents]
    joined = b"".join(fields)
    # The tags that identify a file as protobuf are never cut off.
    whole = joined[: max(3, len(joined) - cut)] + other
    file.write_bytes(whole)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK_BYTES", chunk_bytes)
        found = messages_of(file)
    assert all((message.content_type, message.is_otlp) == (PROTOBUF, True) for message in found)
    parts = [message.content for message in found]
    assert b"".join(parts) == whole
    ends = {sum(map(len, fields[:count])) for count in range(len(fields) + 1)}
    begins = [sum(map(len, parts[:count])) for count in range(len(parts))]
    # After the last complete field, any bytes may look like another field.
    assert all(begin in ends for begin in begins if begin <= len(whole) - len(other) - len(fields[-1]))
    assert all(len(part) <= chunk_bytes + max(map(len, fields)) for part in parts[:-1])


def resource_spans(length: int) -> bytes:
    """Returns the `resource_spans` of one span with a length of `length` bytes."""
    name = length - len(ResourceSpans(scope_spans=[ScopeSpans(spans=[SPAN])]).SerializeToString())
    named = Span(trace_id=SPAN.trace_id, span_id=SPAN.span_id, name="{" * (name - len(b"\x2a?")))
    encoded: bytes = ResourceSpans(scope_spans=[ScopeSpans(spans=[named])]).SerializeToString()
    assert len(encoded) == length
    return encoded


@pytest.mark.parametrize("letter", ["[", "{"])
def test_a_length_that_is_a_bracket_begins_no_json(file: Path, letter: str) -> None:
    whole = field(resource_spans(ord(letter)))
    assert whole.decode("latin-1").lstrip().startswith(letter)
    file.write_bytes(whole)
    assert [message.content_type for message in messages_of(file)] == [PROTOBUF]


@pytest.mark.parametrize(
    "text", ['\n{"resourceSpans": []}', '\n\t{\n\n  "resourceSpans": []}', '\n[{"a": "\x7f\u2028"}]']
)
def test_json_behind_line_breaks_is_json(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")
    assert [message.content_type for message in messages_of(file)] == [JSON]
