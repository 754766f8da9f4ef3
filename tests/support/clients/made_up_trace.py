"""Traces that a test builds span by span, of any size and shape."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx

START = 1_790_000_000 * 10**9
"""The start of made-up traces, in Unix nanoseconds."""
_MILLISECOND = 1_000_000
_FAILED = 2
_SPANS_A_REQUEST = 5_000


class MadeUpTrace:
    """A trace to fill and send.

    Attributes:
        trace_id: its id, unique because tests share stores.
        spans: its spans in OTLP/JSON, in order of addition.
        resource: the resource attributes of all spans.
    """

    def __init__(self) -> None:
        """Creates a trace without spans."""
        self.trace_id = uuid4().hex
        self.spans: list[dict[str, Any]] = []
        self.resource: dict[str, str | int] = {}

    def add(  # noqa: PLR0913  # the members of a span
        self,
        name: str,
        type_: str = "CHAIN",
        *,
        parent: str = "",
        start: float = 0,
        duration: float = 1,
        error: str | None = None,
        attributes: dict[str, str | int] | None = None,
    ) -> str:
        """Adds a span, and returns its id.

        Args:
            name: its name.
            type_: its type: `AGENT`, `LLM`, `TOOL`, `CHAIN` or another of OpenInference.
            parent: the id of its parent; empty for a root.
            start: milliseconds after `START`.
            duration: in milliseconds.
            error: its error message; None without an error.
            attributes: further attributes.
        """
        span_id = f"{len(self.spans) + 1:016x}"
        begin = START + int(start * _MILLISECOND)
        known: dict[str, str | int] = {"openinference.span.kind": type_, **(attributes or {})}
        span: dict[str, Any] = {
            "traceId": self.trace_id,
            "spanId": span_id,
            "parentSpanId": parent,
            "name": name,
            "startTimeUnixNano": str(begin),
            "endTimeUnixNano": str(begin + int(duration * _MILLISECOND)),
            "attributes": _key_values(known),
        }
        if error is not None:
            span["status"] = {"code": _FAILED, "message": error}
        self.spans.append(span)
        return span_id

    def requests(self) -> Iterator[bytes]:
        """Yields the requests that export the trace, in OTLP/JSON."""
        for first in range(0, len(self.spans), _SPANS_A_REQUEST):
            spans = self.spans[first : first + _SPANS_A_REQUEST]
            resource = {"attributes": _key_values(self.resource)}
            yield json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}).encode()

    def send(self, http: httpx.Client) -> None:
        """Sends the trace.

        Raises:
            httpx.HTTPStatusError: the service rejected a part of it.
        """
        for body in self.requests():
            headers = {"Content-Type": "application/json"}
            http.post("/v1/traces", content=body, headers=headers).raise_for_status()


def _key_values(attributes: dict[str, str | int]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _any_value(value)} for key, value in attributes.items()]


def _any_value(value: str | int) -> dict[str, str | bool]:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def large_trace(count: int) -> MadeUpTrace:
    """Returns a trace of `count` spans as a framework records it: agents, steps, model calls and tool calls."""
    random = Random(count)
    trace = MadeUpTrace()
    root = trace.add("import orders", "AGENT", duration=count * 2)
    open_agents = [root]
    while len(trace.spans) < count:
        start = len(trace.spans) * 2
        if random.random() < 0.1 and len(open_agents) < 20:
            name = f"invoke_agent helper_{random.randrange(20)}"
            open_agents.append(trace.add(name, "AGENT", parent=open_agents[-1], start=start, duration=800))
        elif random.random() < 0.1 and len(open_agents) > 1:
            open_agents.pop()
        step = trace.add("RunnableSequence", "CHAIN", parent=open_agents[-1], start=start, duration=12)
        tokens: dict[str, str | int] = {
            "llm.model_name": "gpt-4.1",
            "llm.token_count.prompt": random.randrange(200, 4_000),
            "llm.token_count.completion": random.randrange(1, 400),
        }
        trace.add("chat gpt-4.1", "LLM", parent=step, start=start + 1, duration=8, attributes=tokens)
        tool = f"find_order_{random.randrange(50)}"
        error = f"no such order: {len(trace.spans)}" if random.random() < 0.005 else None
        trace.add(tool, "TOOL", parent=step, start=start + 9, duration=3, error=error, attributes={"tool.name": tool})
    del trace.spans[count:]
    return trace
