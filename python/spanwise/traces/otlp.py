"""Finished spans of the OpenTelemetry SDK as the JSON of an OTLP export.

Source: OTLP 1.x, "JSON Protobuf Encoding": ids are hexadecimal, 64-bit numbers are text, enums are numbers.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from opentelemetry.trace import StatusCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import SpanContext

CONTENT_TYPE = "application/json"
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_INT64 = range(-(2**63), 2**63)


class Verdict(Struct, frozen=True):
    """What the service knows of a run, whatever its spans say.

    Attributes:
        identity: the attributes that say whose it is; every span gets them.
        root: the span id of the root, 16 hexadecimal digits.
        failure: what the run failed of; None if it did not. The root says it, if it says no failure itself.
    """

    identity: Mapping[str, str]
    root: str
    failure: str | None


def spans_of(spans: Iterable[ReadableSpan], verdict: Verdict) -> list[bytes]:
    """Returns spans as they stand in an export, by what made them."""
    by_scope: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for span in spans:
        scope = span.instrumentation_scope
        name, version = ("", "") if scope is None else (scope.name, scope.version or "")
        by_scope.setdefault((name, version), []).append(_span(span, verdict))
    return [
        msgspec.json.encode({"scope": {"name": name, "version": version}, "spans": members})
        for (name, version), members in by_scope.items()
    ]


def export_of(scope_spans: Iterable[bytes], resource: Resource) -> bytes:
    """Returns the request body that exports what `spans_of` returned, once or several times."""
    described = {"attributes": attributes_of(resource.attributes)}
    exported = {"resource": described, "scopeSpans": [msgspec.Raw(each) for each in scope_spans]}
    return msgspec.json.encode({"resourceSpans": [exported]})


def _span(span: ReadableSpan, verdict: Verdict) -> dict[str, Any]:
    context = span.get_span_context()
    assert context is not None  # noqa: S101  # a span that was started has one
    status = {"code": span.status.status_code.value, "message": span.status.description or ""}
    if verdict.failure is not None and f"{context.span_id:016x}" == verdict.root and not _failed(span):
        status = {"code": StatusCode.ERROR.value, "message": verdict.failure}
    encoded = {
        **_ids(context),
        "name": span.name,
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": attributes_of({**_now(span.attributes or {}), **verdict.identity}),
        "events": [_event(event) for event in span.events],
        "links": [{**_ids(link.context), "attributes": attributes_of(link.attributes or {})} for link in span.links],
        "status": status,
    }
    if span.parent is not None:
        encoded["parentSpanId"] = f"{span.parent.span_id:016x}"
    return encoded


def _now(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns attributes as they are; a span that is under way may be changed by another thread meanwhile."""
    found = {key: attributes.get(key) for key in attributes}
    return {key: value for key, value in found.items() if value is not None}


def _failed(span: ReadableSpan) -> bool:
    return span.status.status_code is StatusCode.ERROR


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
