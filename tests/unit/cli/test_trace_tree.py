from __future__ import annotations

from typing import Any

from spanwise.cli.shared.trace_tree import trace_lines


def span(name: str, *spans: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"name": name, "type": "TOOL", "duration": "5ms", "status": "OK", **members, "spans": list(spans)}


def lines(*roots: dict[str, Any], **members: Any) -> list[str]:
    trace = {
        "trace_id": "a" * 32,
        "name": "Run",
        "status": "OK",
        "duration": "1.20s",
        "start_time": "2026-11-20T12:00:00Z",
        "total_spans": 3,
        "tree": list(roots),
        **members,
    }
    return [line.plain.rstrip() for line in trace_lines(trace)]


def test_a_trace_is_a_tree_with_aligned_durations() -> None:
    metadata = {"model": "small", "input_tokens": 1_200, "output_tokens": 30}
    model = span("chat", type="LLM", metadata=metadata)
    failed = span("book", span("post"), status="ERROR", error="ConnectionError: gone\nTraceback", duration="1.10s")
    root = span("Run", failed, model, type="AGENT", metadata={"total_input_tokens": 1_200, "total_output_tokens": 30})
    assert lines(root, user_id="ann") == [
        "Run  1.20s  3 spans  1,200 + 30 tokens  OK",
        f"{'a' * 32}  2026-11-20T12:00:00Z  user ann",
        "",
        "AGENT  Run              5ms",
        "├─ TOOL   book        1.10s  ERROR",
        "│  │         ConnectionError: gone",
        "│  └─ TOOL   post       5ms",
        "└─ LLM    chat          5ms  small  1,200 + 30 tokens",
    ]


def test_names_cannot_manipulate_the_terminal() -> None:
    assert "\x1b" not in "".join(lines(span("\x1b[2J", error="\x1b[31m", status="ERROR"), name="\x1b]0;x"))


def test_a_deep_tree_is_no_recursion() -> None:
    deep = span("leaf")
    for _ in range(5_000):
        deep = span("node", deep)
    assert len(lines(deep)) == 3 + 5_001
