"""Queries as SQL for DuckDB and DataFusion, with a `Dialect` for their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.bench.peers import Expression, Query

LOWER_CASE = {"trace_id", "run_id", "session_id", "user_id"}
"""Fields without upper-case letters, which can be searched without ignoring case, which is cheaper."""
_COMPARISONS = {"EQ": "=", "NEQ": "<>", "GT": ">", "GTE": ">=", "LT": "<", "LTE": "<="}


class Dialect(NamedTuple):
    """How an engine writes an instant, and a case-insensitive substring search."""

    instant: Callable[[str], str]
    contains_ignoring_case: Callable[[str, str], str]


def run_queries(query: Query, dialect: Dialect) -> tuple[str, str]:
    """Returns two queries, for the ids of the page and for the total: in both engines faster than one query."""
    chosen = where(query.filter, dialect)
    order = "ORDER BY start_time DESC, trace_id"
    window = f"LIMIT {query.limit} OFFSET {query.offset}"
    return (
        f"SELECT trace_id FROM traces WHERE {chosen} {order} {window}",  # noqa: S608  # generated values only
        f"SELECT count(*) FROM traces WHERE {chosen}",  # noqa: S608  # likewise
    )


def session_query(query: Query, dialect: Dialect) -> str:
    """Returns the query for the ids of a page of sessions, with the total in each row."""
    chosen = where(query.filter, dialect)
    return (
        f"WITH sessions AS (SELECT session_id, max(start_time) AS last FROM traces "  # noqa: S608  # likewise
        f"WHERE {chosen} AND session_id IS NOT NULL GROUP BY session_id) "
        "SELECT session_id, count(*) OVER () FROM sessions ORDER BY last DESC, session_id "
        f"LIMIT {query.limit} OFFSET {query.offset}"
    )


def where(expression: Expression, dialect: Dialect) -> str:
    """Returns an expression as a SQL condition; both use three-valued logic."""
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
