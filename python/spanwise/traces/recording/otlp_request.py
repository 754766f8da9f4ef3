"""Spans of the OpenTelemetry SDK as an OTLP/JSON request.

Source: OTLP 1.x, "JSON Protobuf Encoding": ids are hexadecimal, 64-bit integers are text, enums are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from opentelemetry.trace import StatusCode

from spanwise.traces.otlp import attributes_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import SpanContext


class RunOverrides(Struct, frozen=True):
    """Facts about a run that override the content of its spans.

    Attributes:
        identity: attributes of every span: session, conversation and user.
        root: the span id of the root, 16 hexadecimal digits.
        failure: why the run failed; None if it did not. It becomes the root's status unless the root has an error
            status.
    """

    identity: Mapping[str, str]
    root: str
    failure: str | None


def encode_spans(spans: Iterable[ReadableSpan], overrides: RunOverrides) -> list[bytes]:
    """Returns spans as OTLP/JSON `ScopeSpans` objects, one for each instrumentation scope."""
    by_scope: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for span in spans:
        scope = span.instrumentation_scope
        name, version = ("", "") if scope is None else (scope.name, scope.version or "")
        by_scope.setdefault((name, version), []).append(_span(span, overrides))
    return [
        msgspec.json.encode({"scope": {"name": name, "version": version}, "spans": members})
        for (name, version), members in by_scope.items()
    ]


def encode_request(scope_spans: Iterable[bytes], resource: Resource) -> bytes:
    """Returns an OTLP/JSON request body with the results of one or more calls of `encode_spans`."""
    described = {"attributes": attributes_of(resource.attributes)}
    resource_spans = {"resource": described, "scopeSpans": [msgspec.Raw(each) for each in scope_spans]}
    return msgspec.json.encode({"resourceSpans": [resource_spans]})


def _span(span: ReadableSpan, overrides: RunOverrides) -> dict[str, Any]:
    context = span.get_span_context()
    assert context is not None  # noqa: S101  # a started span has one
    status = {"code": span.status.status_code.value, "message": span.status.description or ""}
    if overrides.failure is not None and f"{context.span_id:016x}" == overrides.root and not _failed(span):
        status = {"code": StatusCode.ERROR.value, "message": overrides.failure}
    encoded = {
        **_ids(context),
        "name": span.name,
        "kind": span.kind.value + 1,
        "startTimeUnixNano": str(span.start_time or 0),
        "endTimeUnixNano": str(span.end_time or 0),
        "attributes": attributes_of({**_copy(span.attributes or {}), **overrides.identity}),
        "events": [_event(event) for event in span.events],
        "links": [{**_ids(link.context), "attributes": attributes_of(link.attributes or {})} for link in span.links],
        "status": status,
    }
    if span.parent is not None:
        encoded["parentSpanId"] = f"{span.parent.span_id:016x}"
    return encoded


def _copy(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a copy of attributes. Another thread may be changing them because their span may still be open."""
    found = {key: attributes.get(key) for key in attributes}
    return {key: value for key, value in found.items() if value is not None}


def _failed(span: ReadableSpan) -> bool:
    return span.status.status_code is StatusCode.ERROR


def _event(event: Event) -> dict[str, Any]:
    attributes = attributes_of(event.attributes or {})
    return {"timeUnixNano": str(event.timestamp), "name": event.name, "attributes": attributes}


def _ids(context: SpanContext) -> dict[str, str]:
    return {"traceId": f"{context.trace_id:032x}", "spanId": f"{context.span_id:016x}"}
