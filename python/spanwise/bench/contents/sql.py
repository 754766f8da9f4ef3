"""Questions as SQL over three tables: `traces`, `spans` and `texts`.

Texts are in lower case. `spans` counts the spans of a trace in the order of its tree, so what is below a span are the
places after its own up to `last`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

from spanwise.bench.peers.sql import where

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.bench.contents import Question
    from spanwise.bench.peers import Expression
    from spanwise.bench.peers.sql import Dialect

TEXTS = ("input", "output", "error", "text")
_COMPARISONS = {"EQ": "=", "GT": ">", "GTE": ">=", "LT": "<", "LTE": "<="}
_OF_RUNS = {
    "attributes.user.id": "user_id",
    "attributes.session.id": "session_id",
    "attributes.agno.agent.id": "agent_id",
}
_OF_SPANS = {
    "attributes.llm.model_name": "model",
    "attributes.tool.name": "tool_name",
    "attributes.llm.token_count.prompt": "input_tokens",
}
"""Attributes of run roots, and of spans, with the columns that have their values."""
_APART = (
    "{t}.place <> {s}.place AND NOT ({t}.place > {s}.place AND {t}.place <= {s}.last) "
    "AND NOT ({s}.place > {t}.place AND {s}.place <= {t}.last)"
)
_AXES = {
    "PARENT": "{t}.place = {s}.parent",
    "CHILD": "{t}.parent = {s}.place",
    "ANCESTOR": "{t}.place < {s}.place AND {s}.place <= {t}.last",
    "DESCENDANT": "{t}.place > {s}.place AND {t}.place <= {s}.last",
    "FOLLOWED_BY": "{t}.start >= {s}.end AND " + _APART,
    "PRECEDED_BY": "{t}.end <= {s}.start AND " + _APART,
}

SUMS = """
SELECT trace, count(*) AS total_spans, sum(CASE WHEN status = 'ERROR' THEN 1 ELSE 0 END) AS error_count,
sum(CASE WHEN type = 'LLM' THEN 1 ELSE 0 END) AS llm_calls,
sum(CASE WHEN type = 'TOOL' THEN 1 ELSE 0 END) AS tool_calls,
coalesce(sum(input_tokens) + sum(output_tokens), 0) AS total_tokens FROM spans GROUP BY trace
"""
"""The sums of each trace, which are columns of `traces`."""


def query(question: Question, limit: int, dialect: Dialect, contains: Callable[[str], str]) -> str:
    """Returns the query for the ids of the page, with the total in each row.

    Args:
        question: the question.
        limit: the size of the page.
        dialect: how the engine compares columns of traces.
        contains: returns the condition that a row of `texts` contains a pattern.
    """
    chosen = _traces(question.filter, dialect, contains)
    return (
        f"SELECT trace_id, count(*) OVER () FROM traces WHERE {chosen} "  # noqa: S608  # generated values only
        f"ORDER BY start_time DESC, trace_id LIMIT {limit}"
    )


def has_axes(expression: Expression) -> bool:
    """Returns whether a filter leads from one span to others."""
    return any(f'"{axis}"' in json.dumps(expression) for axis in _AXES)


def spellings(pattern: str) -> list[str]:
    """Returns a pattern in lower case as it may stand in a text: as it is, and with the escapes of JSON once and twice.

    The generated texts have no other escapes than those that Python writes.
    """
    found = [pattern.lower()]
    for ascii_only in (False, True):
        once = json.dumps(pattern, ensure_ascii=ascii_only)[1:-1]
        found += [once.lower(), json.dumps(once, ensure_ascii=False)[1:-1].lower()]
    return list(dict.fromkeys(found))


def text(value: str) -> str:
    """Returns a literal."""
    return "'" + value.replace("'", "''") + "'"


def _traces(expression: Expression, dialect: Dialect, contains: Callable[[str], str]) -> str:
    """Returns a filter as a condition on a row of `traces`."""
    match expression["op"]:
        case "AND" | "OR" as word:
            parts = cast("Sequence[Expression]", expression["conditions"])
            return f"({f' {word} '.join(_traces(part, dialect, contains) for part in parts)})"
        case "NOT":
            return f"(NOT {_traces(cast('Expression', expression['condition']), dialect, contains)})"
        case "SPAN":
            condition = _span(cast("Expression", expression["where"]), "s", contains)
            at_least = int(str(expression.get("at_least", 1)))
            repeated = f" GROUP BY s.trace HAVING count(*) >= {at_least}" if at_least > 1 else ""
            return f"traces.trace IN (SELECT s.trace FROM spans s WHERE {condition}{repeated})"  # noqa: S608  # likewise
        case _ if expression["key"] in TEXTS:
            found = _said(expression, contains)
            return f"traces.trace IN (SELECT trace FROM texts WHERE {found})"  # noqa: S608  # likewise
        case "EXISTS":
            return f"({_OF_RUNS[str(expression['key'])]} IS NOT NULL)"
        case _:
            key = str(expression["key"])
            return where({**expression, "key": _OF_RUNS.get(key, key)}, dialect)


def _span(expression: Expression, span: str, contains: Callable[[str], str]) -> str:
    """Returns a condition on a row of `spans`, whose alias is `span`."""
    match expression["op"]:
        case "AND" | "OR" as word:
            parts = cast("Sequence[Expression]", expression["conditions"])
            return f"({f' {word} '.join(_span(part, span, contains) for part in parts)})"
        case "NOT":
            return f"(NOT {_span(cast('Expression', expression['condition']), span, contains)})"
        case str() as axis if axis in _AXES:
            other = f"{span}t"
            relation = _AXES[axis].format(s=span, t=other)
            condition = _span(cast("Expression", expression["where"]), other, contains)
            return (
                f"EXISTS (SELECT 1 FROM spans {other} WHERE {other}.trace = {span}.trace "  # noqa: S608  # likewise
                f"AND {relation} AND {condition})"
            )
        case _ if expression["key"] in TEXTS:
            found = _said(expression, contains)
            return f"(({span}.trace, {span}.place) IN (SELECT trace, place FROM texts WHERE {found}))"  # noqa: S608  # likewise
        case operator:
            key = str(expression["key"])
            return _compared(f"{span}.{_OF_SPANS.get(key, key)}", str(operator), expression.get("value"))


def _compared(column: str, operator: str, value: object) -> str:
    match operator:
        case "EXISTS":
            return f"({column} IS NOT NULL)"
        case "STARTSWITH":
            return f"starts_with({column}, {text(str(value))})"
        case _:
            literal = text(value) if isinstance(value, str) else str(value)
            return f"{column} {_COMPARISONS[operator]} {literal}"


def _said(expression: Expression, contains: Callable[[str], str]) -> str:
    """Returns the condition that a row of `texts` is asked for."""
    condition = f"({' OR '.join(contains(spelling) for spelling in spellings(str(expression['value'])))})"
    return condition if expression["key"] == "text" else f"field = {text(str(expression['key']))} AND {condition}"
