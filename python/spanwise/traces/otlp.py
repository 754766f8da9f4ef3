"""Attributes as OTLP/JSON.

Source: OTLP 1.x, "JSON Protobuf Encoding": 64-bit integers are text, bytes are base64.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

CONTENT_TYPE = "application/json"
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_INT64 = range(-(2**63), 2**63)


def attributes_of(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns attributes as a list of OTLP/JSON `KeyValue` objects. Values of unknown types become their `str`."""
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: object) -> dict[str, Any]:  # noqa: PLR0911  # one line per type
    match value:
        case bool():
            return {"boolValue": value}
        case int() if value in _INT64:
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": _NOT_FINITE.get(str(value), value)}
        case str():
            return {"stringValue": value.encode("utf-8", "replace").decode()}
        case bytes():
            return {"bytesValue": b64encode(value).decode()}
        case Mapping():
            return {"kvlistValue": {"values": attributes_of({str(key): each for key, each in value.items()})}}
        case None:
            return {}
        case Sequence():
            return {"arrayValue": {"values": [_value(each) for each in value]}}
        case _:
            return {"stringValue": str(value)}
