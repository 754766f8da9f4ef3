"""Prints captured traces for whoever writes down what is expected of them."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import MessageToDict

from .facts import IN_METADATA, OF_A_SPAN, span_fact
from .framework import FRAMEWORKS, read_index
from .neutral import MESSAGES

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


def attributes_of(name: str, case: Case) -> str:
    """Returns the requests of a case, decoded: each span or log with its attributes, one a line."""
    lines = []
    for file in read_index(name).files:
        if file.case != case.name:
            continue
        body = (FRAMEWORKS / name / "exports" / file.file).read_bytes()
        body = gzip.decompress(body) if file.content_encoding == "gzip" else body
        is_json = file.content_type == "application/json"
        request = json.loads(body) if is_json else MessageToDict(MESSAGES[file.signal].FromString(body))
        lines.append(f"-- {file.file}")
        for resource in request.get("resourceSpans", []) + request.get("resourceLogs", []):
            lines.append(f"resource {_attributes(resource['resource'])}")
            for scope in resource.get("scopeSpans", []) + resource.get("scopeLogs", []):
                lines.append(f"scope {scope['scope']}")
                for item in scope.get("spans", []) + scope.get("logRecords", []):
                    lines += _item(item)
    return "\n".join(lines)


def _item(item: dict[str, Any]) -> list[str]:
    words = {key: item.get(key) for key in ("name", "eventName", "spanId", "parentSpanId", "status", "body")}
    lines = [f"  {({key: value for key, value in words.items() if value})}"]
    lines += [f"    {key} = {_short(value)}" for key, value in _attributes(item).items()]
    lines += [f"    event {event['name']} {_attributes(event)}" for event in item.get("events", [])]
    return lines


def _attributes(holder: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for attribute in holder.get("attributes", []):
        value = attribute["value"]
        found[attribute["key"]] = next(iter(value.values())) if len(value) == 1 else value
    return found
