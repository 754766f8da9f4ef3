"""From the query of a listing to a search: what is given is AND-ed, each part an exact match or a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw

from spanwise._engine import Filter
from spanwise.errors import FilterError, ValidationError
from spanwise.models import GroupBy, SearchRequest, TracesQuery

if TYPE_CHECKING:
    from spanwise.models import SessionsQuery

_MATCHED = ("run_id", "session_id", "user_id", "agent_id", "team_id", "workflow_id", "status")


def listing(query: TracesQuery) -> SearchRequest:
    """Returns the search for the traces that `query` lists.

    Raises:
        ValidationError: a value is not of its field's type; the message names the parameter.
    """
    return _search(query, GroupBy.RUN, "end_time")


def session_listing(query: SessionsQuery) -> SearchRequest:
    """Returns the search for the sessions that `query` lists. Both bounds are about the start of a trace.

    Raises:
        ValidationError: a value is not of its field's type; the message names the parameter.
    """
    return _search(query, GroupBy.SESSION, "start_time")


def _search(query: SessionsQuery, group_by: GroupBy, last: str) -> SearchRequest:
    bounds = {"start_time": ("GTE", "start_time"), "end_time": ("LTE", last)}
    asked = {name: ("EQ", name) for name in _MATCHED} | bounds
    conditions = []
    for parameter, (op, key) in asked.items():
        value = getattr(query, parameter, UNSET)
        if value is not UNSET:
            condition = {"op": op, "key": key, "value": value}
            _check(parameter, condition)
            conditions.append(condition)
    expression = {"op": "AND", "conditions": conditions} if conditions else None
    return SearchRequest(Raw(msgspec.json.encode(expression)), group_by, query.page, query.limit)


def _check(parameter: str, condition: dict[str, str]) -> None:
    """Refuses a condition that is none, under the name by which the caller knows it."""
    try:
        Filter.compile(msgspec.json.encode(condition))
    except FilterError as error:
        raise ValidationError(f"{error.message} - at `{parameter}`") from error
