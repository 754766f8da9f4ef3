"""Compares what Spanwise reads from the exports of a case with what is expected.

A fact is expected as a text, which must be equal; as a list of texts, each of which must occur; or as any other JSON,
to which the fact, read as JSON, must be equal. `true` is any value, for what the framework draws at random.
"""

from __future__ import annotations

import json
import tempfile
from functools import cache
from typing import TYPE_CHECKING, Any

from spanwise import Filter, TraceStore

from .framework import FRAMEWORKS, read_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .framework import Case, Framework

IN_METADATA = {
    "model": "model",
    "provider": "provider",
    "tool_name": "tool_name",
    "arguments": "parameters",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cached_tokens": "cached_tokens",
    "reasoning_tokens": "reasoning_tokens",
    "session_id": "session_id",
    "user_id": "user_id",
}
"""Facts of a span that stand in the `metadata` of its node, and the members that they are."""
OF_A_SPAN = {"name", "type", "input", "output", "error", *IN_METADATA}


def replayed(name: str, case: Case) -> list[dict[str, Any]]:
    """Returns the traces that a store reads from the exports of a case, the first to start first."""
    return _replayed(name, case.name)


@cache
def _replayed(name: str, case: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        store = TraceStore.open(f"{folder}/store")
        try:
            for file in read_index(name).files:
                if file.case == case and file.signal == "traces":
                    body = (FRAMEWORKS / name / "exports" / file.file).read_bytes()
                    encoding = None if file.content_encoding == "identity" else file.content_encoding
                    store.ingest(body, file.content_type, encoding)
            traces: list[dict[str, Any]] = json.loads(store.search_runs(Filter.compile(b"{}"), 1, 100).data)
            return traces[::-1]
        finally:
            store.close()


def spans_of(trace: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the nodes of a trace in order of their start."""
    waiting, found = list(trace["tree"]), []
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += node.get("spans") or []
    return sorted(found, key=lambda node: (node["start_time"], node["id"]))


def failures(case: Case, traces: list[dict[str, Any]]) -> dict[str, str]:
    """Returns what is not as expected: the place of the fact and a message. See `Framework.missing`."""
    found = dict(_failures(case, traces))
    if len(traces) != len(case.expected):
        names = [trace["name"] for trace in traces]
        found[case.name] = f"expected {len(case.expected)} traces, found {len(traces)}: {names}"
    return found


def _failures(case: Case, traces: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for number, (expected, trace) in enumerate(zip(case.expected, traces, strict=False)):
        place = f"{case.name}/{number}"
        for fact, value in expected.facts.items():
            if message := difference(value, trace_fact(trace, fact)):
                yield f"{place}/{fact}", message
        spans = spans_of(trace)
        for wanted in expected.spans:
            position = next((index for index, span in enumerate(spans) if span["name"] == wanted["name"]), None)
            where = f"{place}/{wanted['name']}"
            if position is None:
                yield where, f"no such span; the spans left are {[span['name'] for span in spans]}"
                continue
            span = spans.pop(position)
            for fact, value in wanted.items():
                if message := difference(value, span_fact(span, fact)):
                    yield f"{where}/{fact}", message


def trace_fact(trace: dict[str, Any], fact: str) -> Any:
    """Returns a fact of a trace; its tokens stand at a root."""
    if fact in {"input_tokens", "output_tokens"}:
        roots = (root.get("metadata") or {} for root in trace["tree"])
        return next((root[f"total_{fact}"] for root in roots if f"total_{fact}" in root), None)
    return trace.get(fact)


def span_fact(span: dict[str, Any], fact: str) -> Any:
    """Returns a fact of a span."""
    if fact not in OF_A_SPAN:
        raise KeyError(f"{fact!r} is no fact of a span; there are {sorted(OF_A_SPAN)}")
    return (span.get("metadata") or {}).get(IN_METADATA[fact]) if fact in IN_METADATA else span.get(fact)


def difference(expected: Any, found: Any) -> str | None:
    """Returns how a fact differs from what is expected; `None` if it does not."""
    if found is None:
        return f"expected {expected!r}, found nothing"
    match expected:
        case True:
            return None
        case str() if found == expected:
            return None
        case [*texts] if texts and all(isinstance(text, str) and text in str(found) for text in texts):
            return None
        case str() | list():
            return f"expected {expected!r}, found {found!r}"
    try:
        found = json.loads(found) if isinstance(found, str) else found
    except json.JSONDecodeError:
        return f"expected {expected!r}, found {found!r}"
    return None if found == expected else f"expected {expected!r}, found {found!r}"


def gaps(framework: Framework, case: Case) -> set[str]:
    """Returns the places of a case that are known not to be read."""
    return {place for place in framework.missing if place.split("/")[0] == case.name}
