"""Conditions on one field, with what every engine has to know of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.bench.peers import Expression

LOWER_CASE = {"trace_id", "run_id", "session_id", "user_id", "agent_id"}
"""Fields without upper-case letters, which can be searched without ignoring case, which is cheaper."""
_TIMES = {"start_time"}
_OTHERS = {"status", "duration_ms", *_TIMES}
"""Fields that have no case to ignore."""


class Leaf(NamedTuple):
    """A condition on one field.

    Attributes:
        operator: a comparison, `CONTAINS`, `STARTSWITH`, `IN` or `EXISTS`.
        key: the field.
        values: the literals: none for `EXISTS`, any number for `IN`, otherwise one.
        folds: whether the engine has to ignore case; the literals are in lower case then.
        is_time: whether the literals are ISO 8601 times without an offset, in UTC.
    """

    operator: str
    key: str
    values: tuple[str | float, ...]
    folds: bool
    is_time: bool


def leaf_of(expression: Expression) -> Leaf:
    """Returns a condition on one field; literals for a field without upper-case letters need no folding."""
    operator, key = str(expression["op"]), str(expression["key"])
    if operator == "IN":
        values = tuple(cast("Sequence[str | float]", expression["values"]))
    else:
        values = () if operator == "EXISTS" else (cast("str | float", expression["value"]),)
    ignores_case = key not in _OTHERS and bool(expression.get("ignore_case", operator == "CONTAINS"))
    # A filter converts the literals for trace ids to lower case, whatever the operator.
    if ignores_case or key == "trace_id":
        values = tuple(str(value).lower() for value in values)
    return Leaf(operator, key, values, ignores_case and key not in LOWER_CASE, key in _TIMES)
