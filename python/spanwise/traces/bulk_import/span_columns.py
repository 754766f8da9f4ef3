"""Spans of other writers, stored with one column for each property, encoded as OTLP.

docs/bulk.md lists the columns. Where a property has several known column names, the first one present is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from spanwise._engine import otlp_spans
from spanwise.errors import DecodeError
from spanwise.traces.otlp import CONTENT_TYPE, attributes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    RejectRow = Callable[[int, str], None]
    """Called with the row and the reason of a rejected span."""

NAMES = {
    "trace_id": ("trace_id",),
    "span_id": ("span_id",),
    "name": ("name", "span_name"),
    "start_time": ("start_time", "start_time_unix_nano"),
    "end_time": ("end_time", "end_time_unix_nano"),
    "parent_span_id": ("parent_span_id", "parent_id"),
    "kind": ("kind", "span_kind"),
    "status": ("status", "status_code"),
    "status_message": ("status_message",),
    "trace_state": ("trace_state",),
    "attributes": ("attributes", "span_attributes"),
    "events": ("events",),
    "links": ("links",),
    "resource_attributes": ("resource_attributes",),
    "scope_name": ("scope_name",),
    "scope_version": ("scope_version",),
    "created_at": ("created_at",),
}
"""The column names of each property, in order of preference."""

_REQUIRED = ("trace_id", "span_id", "name", "start_time")
_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_STATUSES = ("UNSET", "OK", "ERROR")
_EVENT_TIMES = ("time", "timestamp", "time_unix_nano")

_CHUNK_ROWS = 1024
_CHUNK_BYTES = 8 * 1024 * 1024
"""Rows are encoded and checked in chunks of at most this size, counted before encoding."""


def columns_of(names: Iterable[str]) -> dict[str, str]:
    """Returns the column name of each property that `names` has.

    Raises:
        DecodeError: a required property is missing.
    """
    available = list(names)
    found = {wanted: name for wanted, known in NAMES.items() for name in reversed(known) if name in available}
    missing = [f"`{name}`" for name in _REQUIRED if name not in found]
    if missing:
        raise DecodeError(
            f"expected a column `span` of encoded spans, or spans in columns, found {', '.join(available) or 'none'}: "
            f"without {', '.join(missing)} a row is no span"
        )
    return found


@dataclass(frozen=True)
class _EncodedSpan:
    """One row as OTLP/JSON.

    Attributes:
        row: its number in the batch.
        origin: its resource and scope.
        span: the span itself.
        created_at: when its trace was first received, in microseconds since 1970; None if unknown.
    """

    row: int
    origin: tuple[bytes, bytes]
    span: bytes
    created_at: int | None


def encode_spans(batch: pa.RecordBatch, reject: RejectRow) -> Iterator[tuple[pa.RecordBatch, list[int | None]]]:
    """Yields the spans of a batch in the engine's columns, in chunks.

    Args:
        batch: spans with one column for each property.
        reject: called for each row that is no valid span.

    Yields:
        A batch of encoded spans, and for each the time its trace was first received, in microseconds since 1970.

    Raises:
        DecodeError: a required column is missing.
    """
    found = columns_of(batch.schema.names)
    rows_of_size = _CHUNK_BYTES * batch.num_rows // max(batch.nbytes, 1)
    step = max(1, min(_CHUNK_ROWS, rows_of_size))
    for begin in range(0, batch.num_rows, step):
        chunk = batch.slice(begin, step)
        values = {wanted: _values(chunk.column(name)) for wanted, name in found.items()}
        spans = []
        for at in range(chunk.num_rows):
            try:
                spans.append(_encode(begin + at, {wanted: column[at] for wanted, column in values.items()}))
            except (ValueError, TypeError, RecursionError, msgspec.MsgspecError) as error:
                reject(begin + at, str(error))
        yield from _check(spans, reject)


def _check(spans: list[_EncodedSpan], reject: RejectRow) -> Iterator[tuple[pa.RecordBatch, list[int | None]]]:
    if not spans:
        return
    try:
        batch, rejected, reason = otlp_spans(_otlp_request(spans), CONTENT_TYPE)
    except DecodeError as error:
        batch, rejected, reason = None, len(spans), str(error)
    if not rejected:
        yield pa.record_batch(batch), [span.created_at for span in spans]
    elif len(spans) == 1:
        reject(spans[0].row, reason)
    else:  # the engine does not say which spans it rejected: bisect
        middle = len(spans) // 2
        yield from _check(spans[:middle], reject)
        yield from _check(spans[middle:], reject)


def _otlp_request(spans: list[_EncodedSpan]) -> bytes:
    """Returns one OTLP/JSON request; consecutive spans of one resource and scope share an entry."""
    resource_spans = [
        {
            "resource": msgspec.Raw(resource),
            "scopeSpans": [{"scope": msgspec.Raw(scope), "spans": [msgspec.Raw(span.span) for span in members]}],
        }
        for (resource, scope), members in groupby(spans, key=lambda span: span.origin)
    ]
    return msgspec.json.encode({"resourceSpans": resource_spans})


def _values(column: pa.Array) -> list[Any]:
    """Returns a column as Python values, with timestamps as nanoseconds since 1970."""
    in_nanos = _retyped(column.type, pa.timestamp("ns"))
    if in_nanos == column.type and not pa.types.is_timestamp(column.type):
        values: list[Any] = column.to_pylist()
        return values
    try:
        counted: list[Any] = column.cast(in_nanos).cast(_retyped(column.type, pa.int64())).to_pylist()
    except pa.ArrowException as error:
        raise DecodeError(f"expected times from 1677 to 2262: {error}") from error
    return counted


def _retyped(kind: pa.DataType, timestamps: pa.DataType) -> pa.DataType:
    """Returns a type in which every timestamp type, at any depth, is replaced by `timestamps`."""
    if pa.types.is_timestamp(kind):
        return timestamps
    if pa.types.is_dictionary(kind):
        return _retyped(kind.value_type, timestamps)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_retyped(field.type, timestamps)) for field in kind.fields])
    if pa.types.is_map(kind):
        return pa.map_(_retyped(kind.key_type, timestamps), _retyped(kind.item_type, timestamps))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        of = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return of(kind.value_field.with_type(_retyped(kind.value_type, timestamps)))
    return kind


def _encode(number: int, row: dict[str, Any]) -> _EncodedSpan:
    """Returns row `number`, encoded.

    Raises:
        ValueError: a value is out of range.
        TypeError: a value is of the wrong type.
        MsgspecError: a value is no valid JSON, or cannot be encoded.
    """
    status = {"code": _code(row, "status", _STATUSES), "message": row.get("status_message") or ""}
    span = {
        "traceId": _id(row["trace_id"]),
        "spanId": _id(row["span_id"]),
        "parentSpanId": _id(row.get("parent_span_id") or ""),
        "traceState": row.get("trace_state") or "",
        "name": row["name"] or "",
        "kind": _code(row, "kind", _KINDS),
        "startTimeUnixNano": _nanos(row["start_time"], "start_time"),
        "endTimeUnixNano": "0" if row.get("end_time") is None else _nanos(row["end_time"], "end_time"),
        "attributes": _attributes(row.get("attributes"), "attributes"),
        "events": [_event(event) for event in _objects(row.get("events"), "events")],
        "links": [_link(link) for link in _objects(row.get("links"), "links")],
        "status": status,
    }
    resource = {"attributes": _attributes(row.get("resource_attributes"), "resource_attributes")}
    scope = {"name": row.get("scope_name") or "", "version": row.get("scope_version") or ""}
    origin = (msgspec.json.encode(resource), msgspec.json.encode(scope))
    received = row.get("created_at")
    created_at = None if received is None else int(_nanos(received, "created_at")) // 1000
    return _EncodedSpan(number, origin, msgspec.json.encode(span), created_at)


def _id(value: object) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return value.lower()
    raise TypeError(f"expected an id as hexadecimal text or bytes, got `{value}`")


def _nanos(value: object, name: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return str(value)
    raise TypeError(f"expected `{name}` to be an instant, or nanoseconds since 1970, got `{value}`")


def _code(row: dict[str, Any], name: str, words: tuple[str, ...]) -> int:
    value = row.get(name)
    if value is None or value == "":
        return 0
    if isinstance(value, int) and 0 <= value < len(words):
        return value
    if isinstance(value, str):
        word = value.upper().removeprefix("SPAN_KIND_").removeprefix("STATUS_CODE_")
        if word in words:
            return words.index(word)
    raise ValueError(f"expected `{name}` to be one of {', '.join(words)}, got `{value}`")


def _attributes(value: object, name: str) -> list[dict[str, Any]]:
    """Returns the OTLP/JSON attributes of a map, a struct, or a JSON object in text."""
    if isinstance(value, str | bytes):
        value = msgspec.json.decode(value) if value else None
    elif isinstance(value, list):  # an Arrow map
        value = dict(value)
    if not isinstance(value, dict | None):
        raise TypeError(f"expected `{name}` to be a map or a JSON object, got `{value}`")
    return attributes_of({str(key): each for key, each in (value or {}).items() if each is not None})


def _objects(value: object, name: str) -> list[dict[str, Any]]:
    if isinstance(value, str | bytes):
        value = msgspec.json.decode(value) if value else None
    if not isinstance(value, list | None) or not all(isinstance(each, dict) for each in value or []):
        raise TypeError(f"expected `{name}` to be a list of structs or of JSON objects, got `{value}`")
    return value or []


def _event(event: dict[str, Any]) -> dict[str, Any]:
    time = next((event[name] for name in _EVENT_TIMES if event.get(name) is not None), 0)
    attributes = _attributes(event.get("attributes"), "events.attributes")
    return {"timeUnixNano": _nanos(time, "events.time"), "name": event.get("name") or "", "attributes": attributes}


def _link(link: dict[str, Any]) -> dict[str, Any]:
    attributes = _attributes(link.get("attributes"), "links.attributes")
    return {"traceId": _id(link.get("trace_id")), "spanId": _id(link.get("span_id")), "attributes": attributes}
