"""Traces in which every field attacks the browser that shows it."""

from __future__ import annotations

import json
import time

_TOUCH = "globalThis.touched = true"
_ELSEWHERE = "http://192.0.2.1/leak"
"""An address reserved for documentation (RFC 5737)."""

TEXTS: dict[str, str] = {
    "script": f"<script>{_TOUCH}; alert(1)</script>",
    "closed script": f"</script><script>{_TOUCH}</script>",
    "closed title": f"</title></textarea></style><img src=x onerror='{_TOUCH}'>",
    "handler": f"<img src={_ELSEWHERE} onerror='{_TOUCH}'><svg onload='{_TOUCH}'></svg>",
    "frame": f"<iframe srcdoc='<script>parent.touched = true</script>' src='{_ELSEWHERE}'></iframe>",
    "link": f"<a href='javascript:{_TOUCH}' autofocus onfocus='{_TOUCH}'>x</a>",
    "base": f"<base href='{_ELSEWHERE}/'><meta http-equiv=refresh content='0;url={_ELSEWHERE}'>",
    "form": f"<form action='{_ELSEWHERE}'><button autofocus>x</button></form>",
    "style": f"<style>@import '{_ELSEWHERE}'; body {{ display: none }}</style>",
    "stylesheet": f"<link rel=stylesheet href='{_ELSEWHERE}'><link rel=prefetch href='{_ELSEWHERE}'>",
    "vector": f"<svg><script href='{_ELSEWHERE}'/><animate onbegin='{_TOUCH}' attributeName=x dur=1s /></svg>",
    "markdown image": f"![x]({_ELSEWHERE}.png) ![x](data:image/svg+xml,<svg/onload={_TOUCH}>)",
    "markdown link": f"[x](javascript:{_TOUCH}) [x](data:text/html,<script>{_TOUCH}</script>) <javascript:{_TOUCH}>",
    "markdown html": f"# x\n\n<div onclick='{_TOUCH}'>x</div>\n\n<img src={_ELSEWHERE}>\n\n[a]: javascript:{_TOUCH}\n",
    "template": "{{constructor.constructor('globalThis.touched = true')()}} ${globalThis.touched = true} {@html '<b>'}",
    "prototype": '{"__proto__": {"touched": true}, "constructor": {"prototype": {"touched": true}}}',
    "direction": "start \u202e reversed \u2066 isolated \u200b\u200d\ufeff end",
    "controls": "\x1b]8;;http://192.0.2.1\x07x\x1b[2J\x7f\x85\u2028\u2029",
    "deep": '{"a":' * 10_000 + "1" + "}" * 10_000,
    "deep array": "[" * 10_000 + "]" * 10_000,
    "long line": "wide " * 200_000,
    "one word": "w" * 100_000,
    "combining": "a" + "\u0301" * 10_000,
}
"""The texts of hostile fields, by name. None of them may run, be requested, or break the page."""


def trace_id(name: str) -> str:
    """Returns the id of the trace with the text of this name in its fields."""
    return f"{0xBAD:03x}{list(TEXTS).index(name):029x}"


def session_id(name: str) -> str:
    """Returns the session id of that trace: the text itself, truncated because session ids are short."""
    return TEXTS[name][:200]


def export_of(name: str) -> bytes:
    """Returns an OTLP/JSON request with the trace of this name: an agent, a model call and a failed tool call."""
    text = TEXTS[name]
    messages = json.dumps([{"role": "user", "content": text}, {"role": text[:100], "content": text}])
    agent = {
        "agno.agent.id": session_id(name),
        "agent.name": session_id(name),
        "session.id": session_id(name),
        "user.id": session_id(name),
        "openinference.span.kind": "AGENT",
        "input.value": text,
        "output.value": text,
        text[:100]: text,
    }
    model = {
        "openinference.span.kind": "LLM",
        "llm.model_name": session_id(name),
        "llm.provider": session_id(name),
        "input.value": messages,
        "output.value": messages,
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": text,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": text,
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": session_id(name),
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": text,
    }
    tool = {
        "openinference.span.kind": "TOOL",
        "tool.name": session_id(name),
        "tool.parameters": text,
        "input.value": text,
        "output.value": text,
        "error.type": text[:100],
    }
    spans = [_span(name, number, attributes) for number, attributes in enumerate((agent, model, tool), 1)]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


def _span(name: str, number: int, attributes: dict[str, str]) -> dict[str, object]:
    now = time.time_ns()
    text = TEXTS[name]
    is_failed = number > 2
    return {
        "traceId": trace_id(name),
        "spanId": f"{number:016x}",
        "parentSpanId": "" if number == 1 else f"{1:016x}",
        "name": text[:500],
        "startTimeUnixNano": str(now + number * 1_000_000),
        "endTimeUnixNano": str(now + 10_000_000),
        "attributes": _attributes(attributes),
        "status": {"code": 2, "message": text} if is_failed else {"code": 1},
        "events": [
            {
                "timeUnixNano": str(now + 2_000_000),
                "name": "exception",
                "attributes": _attributes({"exception.message": text, "exception.stacktrace": text}),
            }
        ],
    }


def _attributes(values: dict[str, str]) -> list[dict[str, object]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
