"""A minimal encoder of OTLP protobuf messages (OTLP 1.9, `trace.proto`, `common.proto`)."""

from __future__ import annotations

CONTENT_TYPE = "application/x-protobuf"

_SEVEN_BITS = 0x7F
_MORE = 0x80


def varint(number: int) -> bytes:
    """Returns a non-negative integer as a varint."""
    encoded = bytearray()
    while number > _SEVEN_BITS:
        encoded.append(number & _SEVEN_BITS | _MORE)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def field(number: int, content: bytes) -> bytes:
    """Returns a length-delimited field: text, bytes or a message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def attribute(key: str, value: str | int, number: int = 9) -> bytes:
    """Returns an attribute as field `number` of the enclosing message; 9 is the field of a span."""
    encoded = field(1, value.encode()) if isinstance(value, str) else b"\x18" + varint(value)
    return field(number, field(1, key.encode()) + field(2, encoded))


def export_request(resource: bytes, scope: bytes, spans: bytes) -> bytes:
    """Returns an export request of one resource and one scope.

    Args:
        resource: a `Resource` message.
        scope: an `InstrumentationScope` message.
        spans: the spans, each as field 2.
    """
    return field(1, field(1, resource) + field(2, field(1, scope) + spans))
