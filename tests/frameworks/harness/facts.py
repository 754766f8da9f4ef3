"""Compares the facts that Spanwise reads from the exports of a case with the expected ones.

An expected text must equal the fact. Each text in an expected list must occur in it. Any other expected JSON must equal
the fact read as JSON. `true` matches any value, for facts that the framework generates at random.
"""

from __future__ import annotations

import json
import tempfile
from functools import cache
from typing import TYPE_CHECKING, Any

from spanwise import Filter, TraceStore
from spanwise.traces.search import queries

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
"""Facts of a span in the `metadata` of its node, and their members."""
OF_A_SPAN = {"name", "type", "input", "output", "error", *IN_METADATA}


def replayed(name: str, case: Case) -> list[dict[str, Any]]:
    """Returns the traces that a store reads from the exports of a case, in order of start."""
    return _replayed(name, case.name)


@cache
def _replayed(name: str, case: str) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        store = TraceStore.open(f"{folder}/store")
        try:
            for file in read_index(name).files:
                if file.case == case:
                    body = (FRAMEWORKS / name / "exports" / file.file).read_bytes()
                    encoding = None if file.content_encoding == "identity" else file.content_encoding
                    ingest = store.ingest if file.signal == "traces" else store.ingest_logs
                    ingest(body, file.content_type, encoding)
            traces: list[dict[str, Any]] = json.loads(store.query(queries.runs(Filter.compile(b"{}"), 1, 100)).data)
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
    """Returns the differences from the expected facts: the location of the fact and a message.

    See `Framework.missing`.
    """
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
    """Returns a fact of a trace. Its tokens are at a root."""
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
    """Returns how a fact differs from the expected one; `None` if it does not."""
    if found is not None and _is_as_expected(expected, found):
        return None
    return f"expected {expected!r}, found {'nothing' if found is None else repr(found)}"


def _is_as_expected(expected: Any, found: Any) -> bool:
    match expected:
        case True:
            return True
        case str():
            return bool(found == expected)
        case list():
            return bool(expected) and all(str(text) in str(found) for text in expected)
    try:
        return bool((json.loads(found) if isinstance(found, str) else found) == expected)
    except json.JSONDecodeError:
        return False


def gaps(framework: Framework, case: Case) -> set[str]:
    """Returns the locations in a case that are known not to be read."""
    return {place for place in framework.missing if place.split("/")[0] == case.name}
