"""Prints captured traces as a basis for the expected facts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .facts import IN_METADATA, OF_A_SPAN, span_fact
from .sent import attributes_of, requests_of

if TYPE_CHECKING:
    from .framework import Case

LONGEST_TEXT = 400
OF_A_TRACE = ("name", "agent_id", "team_id", "workflow_id", "session_id", "user_id", "input", "output", "error")


def tree_of(trace: dict[str, Any]) -> str:
    """Returns a trace as an indented tree with the facts of each span."""
    lines = ["TRACE", *(f"  {fact}: {_short(trace[fact])}" for fact in OF_A_TRACE if fact in trace)]
    waiting = [(node, 1) for node in reversed(trace["tree"])]
    while waiting:
        node, depth = waiting.pop()
        indent = "    " * depth
        lines.append(f"{indent}{node['type']} {node['name']}")
        facts = [*sorted(OF_A_SPAN - {"type", "name", *IN_METADATA}), *IN_METADATA]
        lines += [f"{indent}  {fact}: {_short(span_fact(node, fact))}" for fact in facts if span_fact(node, fact)]
        waiting += [(child, depth + 1) for child in reversed(node.get("spans") or [])]
    return "\n".join(lines)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}... ({len(text)} characters)"


def requests_text(name: str, case: Case) -> str:
    """Returns the requests of a case, decoded: each span or log with its attributes, one per line."""
    lines = []
    for file, request in requests_of(name, case):
        lines.append(f"-- {file.file}")
        for resource in request.get("resourceSpans", []) + request.get("resourceLogs", []):
            lines.append(f"resource {attributes_of(resource.get('resource', {}))}")
            for scope in resource.get("scopeSpans", []) + resource.get("scopeLogs", []):
                lines.append(f"scope {scope.get('scope')}")
                for item in scope.get("spans", []) + scope.get("logRecords", []):
                    lines += _item(item)
    return "\n".join(lines)


def _item(item: dict[str, Any]) -> list[str]:
    words = {key: item.get(key) for key in ("name", "eventName", "spanId", "parentSpanId", "status", "body")}
    lines = [f"  { ({key: value for key, value in words.items() if value}) }"]
    lines += [f"    {key} = {_short(value)}" for key, value in attributes_of(item).items()]
    lines += [f"    event {event['name']} {attributes_of(event)}" for event in item.get("events", [])]
    return lines
