"""Queries as SQL for DuckDB and DataFusion, with a `Dialect` for their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from spanwise.bench.peers.leaves import leaf_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwise.bench.peers import Expression, Query, Sort
    from spanwise.bench.peers.leaves import Leaf

_COMPARISONS = {"EQ": "=", "NEQ": "<>", "GT": ">", "GTE": ">=", "LT": "<", "LTE": "<="}


class Dialect(NamedTuple):
    """How an engine writes what SQL engines write differently.

    Attributes:
        instant: a UTC time, from its text in ISO 8601.
        contains_ignoring_case: whether a column contains a literal, which is in lower case.
        contains: whether a column contains a literal.
        starts_with: whether a column starts with a literal.
        lower: a column in lower case.
        negated_in: a condition with `IN` on a column below a `NOT`: unknown where the column is null.
    """

    instant: Callable[[str], str]
    contains_ignoring_case: Callable[[str, str], str]
    contains: Callable[[str, str], str] = "contains({}, {})".format
    starts_with: Callable[[str, str], str] = "starts_with({}, {})".format
    lower: Callable[[str], str] = "lower({})".format
    negated_in: Callable[[str, str], str] = "{1}".format


def run_queries(query: Query, dialect: Dialect) -> tuple[str, str]:
    """Returns two queries, for the ids of the page and for the total: in both engines faster than one query."""
    chosen = where(query.whole_filter, dialect)
    order = order_by(query.sort)
    window = f"LIMIT {query.limit} OFFSET {query.offset}"
    return (
        f"SELECT trace_id FROM traces WHERE {chosen} ORDER BY {order} {window}",  # noqa: S608  # generated values only
        f"SELECT count(*) FROM traces WHERE {chosen}",  # noqa: S608  # likewise
    )


def session_query(query: Query, dialect: Dialect) -> str:
    """Returns the query for the ids of a page of sessions, with the total in each row."""
    chosen = where(query.whole_filter, dialect)
    return (
        f"WITH sessions AS (SELECT session_id, max(start_time) AS last FROM traces "  # noqa: S608  # likewise
        f"WHERE {chosen} AND session_id IS NOT NULL GROUP BY session_id) "
        "SELECT session_id, count(*) OVER () FROM sessions ORDER BY last DESC, session_id "
        f"LIMIT {query.limit} OFFSET {query.offset}"
    )


def order_by(sort: Sort) -> str:
    """Returns the order of runs."""
    if sort.key == "start_time":
        return "start_time, trace_id" if sort.ascending else "start_time DESC, trace_id"
    return f"{sort.key} {'ASC' if sort.ascending else 'DESC'}, start_time DESC, trace_id"


def where(expression: Expression, dialect: Dialect, *, is_negated: bool = False) -> str:
    """Returns an expression as a SQL condition; both use three-valued logic.

    `is_negated` is whether it stands below a `NOT`, where false and unknown differ.
    """
    if not expression:
        return "true"
    match expression["op"]:
        case "AND" | "OR" as word:
            parts = cast("Sequence[Expression]", expression["conditions"])
            return f"({f' {word} '.join(where(part, dialect, is_negated=is_negated) for part in parts)})"
        case "NOT":
            return f"(NOT {where(cast('Expression', expression['condition']), dialect, is_negated=True)})"
        case _:
            return _condition(leaf_of(expression), dialect, is_negated=is_negated)


def _condition(leaf: Leaf, dialect: Dialect, *, is_negated: bool) -> str:
    literals = [_literal(value, leaf, dialect) for value in leaf.values]
    column = dialect.lower(leaf.key) if leaf.folds else leaf.key
    match leaf.operator:
        case "EXISTS":
            return f"({leaf.key} IS NOT NULL)"
        case "IN":
            found = f"{column} IN ({', '.join(literals)})"
            return dialect.negated_in(leaf.key, found) if is_negated else found
        case "CONTAINS" if leaf.folds:
            return dialect.contains_ignoring_case(leaf.key, literals[0])
        case "CONTAINS":
            return dialect.contains(leaf.key, literals[0])
        case "STARTSWITH":
            return dialect.starts_with(column, literals[0])
        case operator:
            return f"{column} {_COMPARISONS[operator]} {literals[0]}"


def _literal(value: str | float, leaf: Leaf, dialect: Dialect) -> str:
    if leaf.is_time:
        return dialect.instant(str(value))
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def ilike(key: str, literal: str) -> str:
    """Returns whether a column contains a literal, case ignored, with `ILIKE`, where `%` and `_` stand for others."""
    escaped = literal.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"{key} ILIKE '%' || {escaped} || '%'" + (" ESCAPE '\\'" if escaped != literal else "")
