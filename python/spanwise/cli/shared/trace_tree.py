"""A trace as a tree of lines: type, name, duration, tokens and errors of each span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from spanwise.cli.shared.table import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

STYLES = {"AGENT": "cyan", "TEAM": "cyan", "WORKFLOW": "cyan", "LLM": "magenta", "TOOL": "yellow"}
"""The colours of span types."""
ERROR_STYLE = "bold red"
MAX_NAME_WIDTH = 48

Json = dict[str, Any]


class _Line(NamedTuple):
    guide: str
    below: str
    node: Json


def trace_lines(trace: Json) -> Iterator[Text]:
    """Yields the lines of a trace, as `GET /traces/{trace_id}` returns it."""
    yield _title(trace)
    known = [
        f"{name} {printable(trace[f'{name}_id'])}" for name in ("user", "session", "run") if trace.get(f"{name}_id")
    ]
    yield Text("  ".join([f"{trace['trace_id']}  {trace['start_time']}", *known]), style="dim")
    yield Text("")
    lines = list(_nodes(trace["tree"]))
    types = max((len(line.node["type"]) for line in lines), default=0)
    names = min(MAX_NAME_WIDTH, max((len(line.guide) + len(line.node["name"]) for line in lines), default=0))
    for line in lines:
        yield _line(line, types, names)
        error = line.node.get("error")
        if error:
            text = Text(line.below + " " * (types + 2), style="dim")
            yield text.append(printable(str(error).strip().partition("\n")[0]), style=ERROR_STYLE)


def _title(trace: Json) -> Text:
    title = Text(printable(trace["name"]), style="bold")
    spans = trace["total_spans"]
    facts = [str(trace["duration"]), f"{spans} span{'' if spans == 1 else 's'}"]
    roots = [root.get("metadata", {}) for root in trace["tree"]]
    tokens = [sum(int(each.get(f"total_{kind}_tokens", 0)) for each in roots) for kind in ("input", "output")]
    if any(tokens):
        facts.append(f"{tokens[0]:,} + {tokens[1]:,} tokens")
    title.append("  " + "  ".join(facts), style="not bold")
    return title.append(f"  {trace['status']}", style=ERROR_STYLE if trace["status"] == "ERROR" else "green")


def _nodes(roots: list[Json]) -> Iterator[_Line]:
    """Yields the spans in tree order, with the guides before them. Does not recurse, because trees may be deep."""
    waiting = [_Line("", "", root) for root in reversed(roots)]
    while waiting:
        line = waiting.pop()
        children: list[Json] = line.node.get("spans") or []
        bar = "│  " if children else "   "
        yield line._replace(below=line.below + bar if line.guide or children else line.below)
        for position, child in reversed(list(enumerate(children))):
            is_last = position == len(children) - 1
            guide, below = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            waiting.append(_Line(line.below + guide, line.below + below, child))


def _line(line: _Line, types: int, names: int) -> Text:
    node = line.node
    text = Text(line.guide, style="dim")
    text.append(node["type"].ljust(types), style=STYLES.get(node["type"], "blue"))
    name = printable(node["name"])
    text.append(f"  {name}".ljust(names - len(line.guide) + 2), style="not dim")
    text.append(f"  {node['duration']:>8}", style="not dim")
    tokens = _tokens(node.get("metadata") or {})
    if tokens:
        text.append(f"  {tokens}", style="not dim")
    if node["status"] == "ERROR":
        text.append("  ERROR", style=ERROR_STYLE)
    return text


def _tokens(metadata: Mapping[str, Any]) -> str:
    parts = [printable(str(metadata["model"]))] if "model" in metadata else []
    counts = [metadata.get(f"{kind}_tokens", 0) for kind in ("input", "output")]
    if any(counts):
        parts.append(f"{counts[0]:,} + {counts[1]:,} tokens")
    return "  ".join(parts)
