"""Spans that others wrote, with a column for each thing that is said of a span.

docs/bulk.md lists the columns. Where several names are known, the first that is there is read.
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

    Refuse = Callable[[int, str], None]

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
"""What is read, and by which names it is known."""

_NEEDED = ("trace_id", "span_id", "name", "start_time")
_KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
_STATUSES = ("UNSET", "OK", "ERROR")
_TIMES_OF_EVENTS = ("time", "timestamp", "time_unix_nano")

# So many rows are checked together, unless they are large.
_ROWS = 1024
_BYTES = 8 * 1024 * 1024


def columns_of(names: Iterable[str]) -> dict[str, str]:
    """Returns under which of `names` stands what is read.

    Raises:
        DecodeError: something is missing without which a row is no span.
    """
    there = list(names)
    found = {wanted: name for wanted, known in NAMES.items() for name in reversed(known) if name in there}
    missing = [f"`{name}`" for name in _NEEDED if name not in found]
    if missing:
        raise DecodeError(
            f"expected a column `span` of encoded spans, or spans in columns, found {', '.join(there) or 'none'}: "
            f"without {', '.join(missing)} a row is no span"
        )
    return found


@dataclass(frozen=True)
class _Row:
    place: int
    resource: tuple[bytes, bytes]
    """Resource and scope, encoded."""
    span: bytes
    created_at: int | None


def read_spans(batch: pa.RecordBatch, refuse: Refuse) -> Iterator[tuple[pa.RecordBatch, list[int | None]]]:
    """Yields the spans of a batch in the engine's columns, with when their traces were first received.

    Args:
        batch: spans, a column for each thing that is said of them.
        refuse: is told the row and the reason of each span that is refused.

    Raises:
        DecodeError: something is missing without which a row is no span.
    """
    found = columns_of(batch.schema.names)
    rows_of_size = _BYTES * batch.num_rows // max(batch.nbytes, 1)
    step = max(1, min(_ROWS, rows_of_size))
    for begin in range(0, batch.num_rows, step):
        lot = batch.slice(begin, step)
        values = {wanted: _values(lot.column(name)) for wanted, name in found.items()}
        rows = []
        for at in range(lot.num_rows):
            try:
                rows.append(_row(begin + at, {wanted: column[at] for wanted, column in values.items()}))
            except (ValueError, TypeError, RecursionError, msgspec.MsgspecError) as error:
                refuse(begin + at, str(error))
        yield from _checked(rows, refuse)


def _checked(rows: list[_Row], refuse: Refuse) -> Iterator[tuple[pa.RecordBatch, list[int | None]]]:
    if not rows:
        return
    try:
        batch, rejected, reason = otlp_spans(_export(rows), CONTENT_TYPE)
    except DecodeError as error:
        batch, rejected, reason = None, len(rows), str(error)
    if not rejected:
        yield pa.record_batch(batch), [row.created_at for row in rows]
    elif len(rows) == 1:
        refuse(rows[0].place, reason)
    else:  # which ones it is shows once they stand alone
        middle = len(rows) // 2
        yield from _checked(rows[:middle], refuse)
        yield from _checked(rows[middle:], refuse)


def _export(rows: list[_Row]) -> bytes:
    """Returns rows as an export, those that follow each other and have one resource and scope together."""
    exported = [
        {
            "resource": msgspec.Raw(resource),
            "scopeSpans": [{"scope": msgspec.Raw(scope), "spans": [msgspec.Raw(row.span) for row in members]}],
        }
        for (resource, scope), members in groupby(rows, key=lambda row: row.resource)
    ]
    return msgspec.json.encode({"resourceSpans": exported})


def _values(column: pa.Array) -> list[Any]:
    """Returns values as Python's, instants as nanoseconds since 1970."""
    in_nanos = _retyped(column.type, pa.timestamp("ns"))
    if in_nanos == column.type and not pa.types.is_timestamp(column.type):
        values: list[Any] = column.to_pylist()
        return values
    try:
        counted: list[Any] = column.cast(in_nanos).cast(_retyped(column.type, pa.int64())).to_pylist()
    except pa.ArrowException as error:
        raise DecodeError(f"expected times from 1677 to 2262: {error}") from error
    return counted


def _retyped(kind: pa.DataType, instants: pa.DataType) -> pa.DataType:
    """Returns a type with `instants` in the place of every type of instants."""
    if pa.types.is_timestamp(kind):
        return instants
    if pa.types.is_dictionary(kind):
        return _retyped(kind.value_type, instants)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_retyped(field.type, instants)) for field in kind.fields])
    if pa.types.is_map(kind):
        return pa.map_(_retyped(kind.key_type, instants), _retyped(kind.item_type, instants))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        of = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return of(kind.value_field.with_type(_retyped(kind.value_type, instants)))
    return kind


def _row(place: int, row: dict[str, Any]) -> _Row:
    """Returns one row, encoded.

    Raises:
        ValueError: a value says nothing that a span can say; so too `TypeError`, `MsgspecError`.
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
    shared = (msgspec.json.encode(resource), msgspec.json.encode(scope))
    received = row.get("created_at")
    created_at = None if received is None else int(_nanos(received, "created_at")) // 1000
    return _Row(place, shared, msgspec.json.encode(span), created_at)


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
    """Returns the attributes of a map, of a struct, or of a JSON object in text."""
    if isinstance(value, str | bytes):
        value = msgspec.json.decode(value) if value else None
    elif isinstance(value, list):  # a map of Arrow
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
    time = next((event[name] for name in _TIMES_OF_EVENTS if event.get(name) is not None), 0)
    attributes = _attributes(event.get("attributes"), "events.attributes")
    return {"timeUnixNano": _nanos(time, "events.time"), "name": event.get("name") or "", "attributes": attributes}


def _link(link: dict[str, Any]) -> dict[str, Any]:
    attributes = _attributes(link.get("attributes"), "links.attributes")
    return {"traceId": _id(link.get("trace_id")), "spanId": _id(link.get("span_id")), "attributes": attributes}
