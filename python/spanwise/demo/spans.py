"""Spans with a simulated clock, and their encoding as OTLP/JSON (OTLP 1.9, `trace.proto`, JSON mapping)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from spanwise.demo.scene import Failure

if TYPE_CHECKING:
    from random import Random


INTERNAL, SERVER, CLIENT = 1, 2, 3
UNSET, OK, ERROR = 0, 1, 2
_SAMPLED = 0x100
_MILLISECOND = 1_000_000

Value = str | bool | int | float | list[str]
Attributes = dict[str, Value]


class Scope(NamedTuple):
    """An instrumentation scope."""

    name: str
    version: str
    schema_url: str = ""


class Span(msgspec.Struct):
    """A span, with times in Unix nanoseconds. `failure` becomes an `exception` event at its end."""

    id: str
    parent_id: str
    scope: Scope
    name: str
    kind: int
    start: int
    attributes: Attributes
    end: int = 0
    status: int = UNSET
    message: str = ""
    failure: Failure | None = None


class TraceWriter:
    """Collects the spans of one trace. `clock` is the simulated time in Unix nanoseconds."""

    def __init__(self, rng: Random, start: int) -> None:
        """Creates a trace that starts at `start`, in Unix nanoseconds."""
        self.rng = rng
        self.clock = start
        self.trace_id = f"{rng.getrandbits(128):032x}"
        self.spans: list[Span] = []

    def open(self, scope: Scope, name: str, parent: Span | None, attributes: Attributes, kind: int = INTERNAL) -> Span:
        """Returns a new span that starts now."""
        self.clock += self.rng.randint(20_000, 900_000)
        span_id = f"{self.rng.getrandbits(64):016x}"
        parent_id = parent.id if parent else ""
        return Span(span_id, parent_id, scope, name, kind, self.clock, attributes)

    def spend(self, milliseconds: float, spread: float) -> None:
        """Advances the clock by a log-normal duration with this median and spread."""
        factor = self.rng.lognormvariate(0.0, spread)
        self.clock += int(milliseconds * factor * _MILLISECOND)

    def close(self, span: Span, status: int = UNSET, message: str = "", failure: Failure | None = None) -> None:
        """Ends `span` now. Spans are collected in the order in which they end, as exporters send them."""
        self.clock += self.rng.randint(10_000, 200_000)
        span.end, span.status, span.message, span.failure = self.clock, status, message, failure
        self.spans.append(span)


def attribute_list(attributes: Attributes) -> list[dict[str, object]]:
    """Returns `attributes` in OTLP/JSON."""
    return [{"key": key, "value": _any_value(value)} for key, value in attributes.items()]


def _any_value(value: Value) -> dict[str, object]:
    match value:
        case str():
            return {"stringValue": value}
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case _:
            return {"arrayValue": {"values": [{"stringValue": text} for text in value]}}


def _exception_event(failure: Failure, moment: int) -> dict[str, object]:
    trace = f'Traceback (most recent call last):\n  File "agent.py", line 87, in run\n{failure.type}: {failure.message}'
    attributes: Attributes = {
        "exception.type": failure.type,
        "exception.message": failure.message,
        "exception.stacktrace": trace,
        "exception.escaped": "False",
    }
    return {"timeUnixNano": str(moment), "name": "exception", "attributes": attribute_list(attributes)}


def encode_span(span: Span, trace_id: str) -> bytes:
    """Returns `span` in OTLP/JSON."""
    body: dict[str, object] = {
        "traceId": trace_id,
        "spanId": span.id,
        "flags": _SAMPLED,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "attributes": attribute_list(span.attributes),
    }
    if span.parent_id:
        body["parentSpanId"] = span.parent_id
    if span.failure:
        body["events"] = [_exception_event(span.failure, span.end)]
    if span.status != UNSET:
        body["status"] = {"code": span.status, "message": span.message} if span.message else {"code": span.status}
    return msgspec.json.encode(body)
