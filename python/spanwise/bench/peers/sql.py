"""Questions as SQL, in what DuckDB and DataFusion have in common; what they say differently is a `Dialect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.bench.peers import Expression, Question

LOWER_CASE = {"trace_id", "run_id", "session_id", "user_id"}
"""Fields that hold no capital letters: to look for a text in them one need not ignore case, which is cheaper."""
_COMPARISONS = {"EQ": "=", "NEQ": "<>", "GT": ">", "GTE": ">=", "LT": "<", "LTE": "<="}


class Dialect(NamedTuple):
    """How an engine writes an instant, and a text within a text while case is ignored."""

    instant: Callable[[str], str]
    contains_ignoring_case: Callable[[str, str], str]


def run_queries(question: Question, dialect: Dialect) -> tuple[str, str]:
    """Returns two queries: for the ids of the page, and for the total. Both engines answer two faster than one."""
    chosen = where(question.filter, dialect)
    order = "ORDER BY start_time DESC, trace_id"
    window = f"LIMIT {question.limit} OFFSET {question.offset}"
    return (
        f"SELECT trace_id FROM traces WHERE {chosen} {order} {window}",  # noqa: S608  # our own rows, our own words
        f"SELECT count(*) FROM traces WHERE {chosen}",  # noqa: S608  # likewise
    )


def session_query(question: Question, dialect: Dialect) -> str:
    """Returns a query for the ids of a page of sessions, with the total beside each."""
    chosen = where(question.filter, dialect)
    return (
        f"WITH sessions AS (SELECT session_id, max(start_time) AS last FROM traces "  # noqa: S608  # likewise
        f"WHERE {chosen} AND session_id IS NOT NULL GROUP BY session_id) "
        "SELECT session_id, count(*) OVER () FROM sessions ORDER BY last DESC, session_id "
        f"LIMIT {question.limit} OFFSET {question.offset}"
    )


def where(expression: Expression, dialect: Dialect) -> str:
    """Returns an expression as a condition; three-valued logic means the same in both."""
    if not expression:
        return "true"
    match expression["op"]:
        case "AND" | "OR" as word:
            parts = cast("Sequence[Expression]", expression["conditions"])
            return f"({f' {word} '.join(where(part, dialect) for part in parts)})"
        case "NOT":
            return f"(NOT {where(cast('Expression', expression['condition']), dialect)})"
        case "IN":
            values = cast("Sequence[str]", expression["values"])
            return f"{expression['key']} IN ({', '.join(map(_text, values))})"
        case operator:
            return _leaf(str(operator), str(expression["key"]), expression["value"], dialect)


def _leaf(operator: str, key: str, value: object, dialect: Dialect) -> str:
    match operator:
        case "CONTAINS" if key in LOWER_CASE:
            return f"contains({key}, {_text(str(value).lower())})"
        case "CONTAINS":
            return dialect.contains_ignoring_case(key, _text(str(value)))
        case "STARTSWITH":
            return f"starts_with({key}, {_text(str(value))})"
        case _ if key == "start_time":
            return f"{key} {_COMPARISONS[operator]} {dialect.instant(str(value))}"
        case _:
            literal = _text(value) if isinstance(value, str) else str(value)
            return f"{key} {_COMPARISONS[operator]} {literal}"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
