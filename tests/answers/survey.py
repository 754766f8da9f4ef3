"""The contents of a store. Requests draw their values from them, so that most requests find something."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from answers.application import Application

_VALUES_A_KEY = 40
_TEXTS = 600
_LONGEST_TEXT = 400
_SETTLED_LOOKS = 10
_FREQUENT_ATTRIBUTES = 25


class Field(Struct, frozen=True):
    """A field of filters."""

    key: str
    type: str
    operators: list[str]


class KnownTrace(Struct, frozen=True):
    """A trace that can be read."""

    trace_id: str
    spans: list[str]
    is_damaged: bool


class Survey(Struct, frozen=True):
    """The contents of a store.

    Attributes:
        missing_indexes: the number of indexes that segments lack for good.
        fields: the fields of traces.
        span_fields: the fields of spans.
        axes: the axes, each with its options.
        traces: all traces, newest first.
        values: values of the fields of traces, by key.
        span_values: values of the fields of spans, by key.
        attributes: values of attributes, by their key in filters.
        frequent_attributes: the keys that most spans have.
        texts: pieces of inputs, outputs and errors.
        paths: JSON pointers of values of spans.
    """

    missing_indexes: int
    fields: list[Field]
    span_fields: list[Field]
    axes: dict[str, list[str]]
    traces: list[KnownTrace]
    values: dict[str, list[Any]]
    span_values: dict[str, list[Any]]
    attributes: dict[str, list[Any]]
    frequent_attributes: list[str]
    texts: list[str]
    paths: list[str]


async def survey(application: Application, draw: Random) -> Survey:
    """Reads all traces of a store."""
    missing = await _missing_indexes(application)
    schema = json.loads(await application.read("GET", "/traces/filter-schema"))
    traces: list[KnownTrace] = []
    values: dict[str, Counter[Any]] = defaultdict(Counter)
    span_values: dict[str, Counter[Any]] = defaultdict(Counter)
    attributes: dict[str, Counter[Any]] = defaultdict(Counter)
    texts: Counter[str] = Counter()
    async for item in _items(application, "summary"):
        _gather(values, item)
    async for item in _items(application, "full"):
        spans = list(_spans(item["tree"]))
        traces.append(KnownTrace(item["trace_id"], [span["id"] for span in spans], "damaged" in item))
        for span in spans:
            _gather_span(span, span_values, attributes, texts)
    fields, span_fields = (_fields(schema[name]) for name in ("fields", "span_fields"))
    return Survey(
        missing_indexes=missing,
        fields=fields,
        span_fields=span_fields,
        axes={axis: schema["axis_options"].get(axis, []) for axis in schema["axes"]},
        traces=traces,
        values=_sampled(values, draw),
        span_values=_sampled(span_values, draw),
        attributes=_sampled(attributes, draw),
        frequent_attributes=sorted(attributes, key=lambda key: (-attributes[key].total(), key))[:_FREQUENT_ATTRIBUTES],
        texts=_sample(texts, draw, _TEXTS),
        paths=["/name", "/input", "/output", "/error", "/metadata/model", "/extra_data/attributes/tenant", "/status"],
    )


async def _missing_indexes(application: Application) -> int:
    """Returns the number of missing indexes once it no longer changes."""
    looks, count = 0, -1
    while looks < _SETTLED_LOOKS:
        found = await application.waiting_segments()
        looks, count = (looks + 1 if found == count else 0), found
        await asyncio.sleep(0.1)
    return count


async def _items(application: Application, detail: str) -> Any:
    page = 1
    while True:
        body = json.dumps({"detail": detail, "page": page, "limit": 100})
        found = json.loads(await application.read("POST", "/traces/search", body))["data"]
        for item in found:
            yield item
        if not found:
            return
        page += 1


def _spans(tree: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for span in tree:
        yield span
        yield from _spans(span.get("spans") or [])


def _fields(described: list[dict[str, Any]]) -> list[Field]:
    return [Field(each["key"], each["type"], each["operators"]) for each in described]


def _gather(values: dict[str, Counter[Any]], item: dict[str, Any]) -> None:
    for key, value in item.items():
        if isinstance(value, str | int | float) and not key.endswith("_preview"):
            values[key][value] += 1
    values["duration_ms"][_milliseconds(item)] += 1


def _gather_span(
    span: dict[str, Any], values: dict[str, Counter[Any]], attributes: dict[str, Counter[Any]], texts: Counter[str]
) -> None:
    metadata = span.get("metadata") or {}
    _gather(values, {key: value for key, value in span.items() if key not in {"input", "output", "error", "id"}})
    _gather(values, {**{key: value for key, value in metadata.items() if key != "parameters"}, **_times(span)})
    for name in ("input", "output", "error"):
        if span.get(name):
            texts[span[name][:_LONGEST_TEXT]] += 1
    extra = span.get("extra_data") or {}
    if operation := (extra.get("attributes") or {}).get("gen_ai.operation.name"):
        values["operation"][operation] += 1
    for place, given in (("attributes", extra), ("resource", extra.get("resource") or {})):
        for key, value in (given.get("attributes") or {}).items():
            if not isinstance(value, str | int | float):
                attributes[f"{place}.{key}"][""] += 1
            elif len(str(value)) <= _LONGEST_TEXT:
                attributes[f"{place}.{key}"][value] += 1


def _times(item: dict[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in ("start_time", "end_time")}


def _milliseconds(item: dict[str, Any]) -> int:
    if "start_time" not in item or "end_time" not in item:
        return 0
    start, end = (datetime.fromisoformat(item[key]) for key in ("start_time", "end_time"))
    return max(0, int((end - start).total_seconds() * 1_000))


def _sampled(values: dict[str, Counter[Any]], draw: Random) -> dict[str, list[Any]]:
    return {key: _sample(found, draw, _VALUES_A_KEY) for key, found in sorted(values.items())}


def _sample(found: Counter[Any], draw: Random, count: int) -> list[Any]:
    """Returns up to `count` values: half of them the most frequent ones, which most traces have."""
    ordered = sorted(found, key=lambda value: (-found[value], type(value).__name__, value))
    frequent, others = ordered[: count // 2], ordered[count // 2 :]
    return frequent + draw.sample(others, min(count - count // 2, len(others)))
