"""Filters of the list routes: the query parameters joined by AND, each an exact match or a bound.

See docs/reference/api-search.md#trace-search and docs/reference/api-search.md#session-stats.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from spanwise._engine import Filter
from spanwise.errors import FilterError, ValidationError

if TYPE_CHECKING:
    from spanwise.api.traces import SessionsQuery, TracesQuery

_EXACT = ("run_id", "session_id", "user_id", "agent_id", "team_id", "workflow_id", "status")
_CONDITION_PATH = re.compile(r"\$\.conditions\[(\d+)\]")


def trace_list_filter(query: TracesQuery) -> Filter:
    """Returns the filter for the traces that `query` lists. `end_time` bounds the end of a trace.

    Raises:
        ValidationError: a value is invalid for its field; the message names the query parameter.
    """
    return _compile(query, "end_time")


def session_list_filter(query: SessionsQuery) -> Filter:
    """Returns the filter for the traces whose sessions `query` lists. `end_time` bounds the start of a trace.

    Raises:
        ValidationError: a value is invalid for its field; the message names the query parameter.
    """
    return _compile(query, "start_time")


def _compile(query: SessionsQuery, upper_bound: str) -> Filter:
    bounds = {"start_time": ("GTE", "start_time"), "end_time": ("LTE", upper_bound)}
    operators = {name: ("EQ", name) for name in _EXACT} | bounds
    given = [name for name in operators if getattr(query, name, UNSET) is not UNSET]
    conditions = [
        {"op": operators[name][0], "key": operators[name][1], "value": getattr(query, name)} for name in given
    ]
    expression = {"op": "AND", "conditions": conditions} if conditions else None
    try:
        return Filter.compile(msgspec.json.encode(expression))
    except FilterError as error:
        position = _CONDITION_PATH.match(error.path)
        if position is None:
            raise
        # The caller wrote no filter, so the error names the query parameter instead of a path in the filter.
        raise ValidationError(f"{error.message} - at `{given[int(position[1])]}`") from error
