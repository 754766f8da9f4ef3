"""Finished spans of the OpenTelemetry SDK as the JSON of an OTLP export.

Source: OTLP 1.x, "JSON Protobuf Encoding": ids are hexadecimal, 64-bit numbers are text, enums are numbers.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import SpanContext

CONTENT_TYPE = "application/json"
_SCOPE = {"name": "spanwise"}


def export_of(spans: Iterable[ReadableSpan], resource: Resource, identity: Mapping[str, str]) -> bytes:
    """Returns the request body that exports `spans`, each with the attributes of `identity`, whatever it had."""
    scope_spans = {"scope": _SCOPE, "spans": [_span(span, identity) for span in spans]}
    described = {"attributes": attributes_of(resource.attributes)}
    return msgspec.json.encode({"resourceSpans": [{"resource": described, "scopeSpans": [scope_spans]}]})


def _span(span: ReadableSpan, identity: Mapping[str, str]) -> dict[str, Any]:
    context = span.get_span_context()
    assert context is not None  # noqa: S101  # a span that was started has one
    status = {"code": span.status.status_code.value, "message": span.status.description or ""}
    encoded = {
        **_ids(context),
        "name": span.name,
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": attributes_of({**(span.attributes or {}), **identity}),
        "events": [_event(event) for event in span.events],
        "links": [{**_ids(link.context), "attributes": attributes_of(link.attributes or {})} for link in span.links],
        "status": status,
    }
    if span.parent is not None:
        encoded["parentSpanId"] = f"{span.parent.span_id:016x}"
    return encoded


def _event(event: Event) -> dict[str, Any]:
    attributes = attributes_of(event.attributes or {})
    return {"timeUnixNano": str(event.timestamp), "name": event.name, "attributes": attributes}


def _ids(context: SpanContext) -> dict[str, str]:
    return {"traceId": f"{context.trace_id:032x}", "spanId": f"{context.span_id:016x}"}


def attributes_of(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns attributes as OTLP/JSON writes them."""
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: object) -> dict[str, Any]:  # noqa: PLR0911  # one line for each type
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value if value - value == 0 else str(value)}
        case str():
            return {"stringValue": value.encode("utf-8", "replace").decode()}
        case bytes():
            return {"bytesValue": b64encode(value).decode()}
        case Mapping():
            return {"kvlistValue": {"values": attributes_of({str(key): each for key, each in value.items()})}}
        case Sequence():
            return {"arrayValue": {"values": [_value(each) for each in value]}}
        case _:
            return {"stringValue": str(value)}
