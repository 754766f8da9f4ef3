"""The conditions: every operator on texts, numbers and times, and trees of three conditions and more."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from spanwise.bench.data.shape import LATEST
from spanwise.bench.masks import BATCH, Condition

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pyarrow as pa

    from spanwise.bench.peers import Expression

COMPARISONS = ("EQ", "NEQ", "GT", "GTE", "LT", "LTE")
_MANY, _SOME = 5_000, 50
_ABSENT = "zzyzx"


def conditions(rows: pa.Table, family: str, rng: np.random.Generator) -> list[Condition]:
    """Returns the conditions on columns of a family, with literals drawn from the rows."""
    if family == "texts":
        return _on_texts(rows.slice(0, BATCH), rng)
    if family == "numbers":
        drawn = sorted(_draw(rows["duration_ms"], _SOME, rng))
        return _on_values("duration_ms", drawn, drawn[len(drawn) // 2], drawn[-3])
    instants = [LATEST.replace(tzinfo=None) - timedelta(days=int(day)) for day in rng.permutation(30)[:_SOME]]
    drawn = sorted(moment.isoformat() for moment in instants)
    return _on_values("start_time", drawn, drawn[len(drawn) // 2], drawn[-3])


def leaf(op: str, key: str, value: object, *, ignore_case: bool | None = None) -> Expression:
    """Returns a condition on one field; `ignore_case` is left to the operator unless it is given."""
    literal: Expression = {"values": value} if op == "IN" else {"value": value}
    return {"op": op, "key": key} | literal | ({} if ignore_case is None else {"ignore_case": ignore_case})


def all_of(*parts: Expression) -> Expression:
    """Returns `AND` of conditions."""
    return {"op": "AND", "conditions": list(parts)}


def any_of(*parts: Expression) -> Expression:
    """Returns `OR` of conditions."""
    return {"op": "OR", "conditions": list(parts)}


def negated(part: Expression) -> Expression:
    """Returns `NOT` of a condition."""
    return {"op": "NOT", "condition": part}


def _on_values(key: str, drawn: Sequence[object], one: object, high: object) -> list[Condition]:
    return [
        *(Condition(f"{key} {op}", leaf(op, key, one)) for op in COMPARISONS),
        Condition(f"{key} IN {len(drawn)}", leaf("IN", key, drawn)),
        Condition(f"{key} EXISTS", {"op": "EXISTS", "key": key}),
        Condition(f"{key} between two", all_of(leaf("GTE", key, one), leaf("LT", key, high))),
        Condition(f"{key} not between two", negated(all_of(leaf("GTE", key, one), leaf("LT", key, high)))),
    ]


def _on_texts(rows: pa.Table, rng: np.random.Generator) -> list[Condition]:
    ids, users = _draw(rows["trace_id"], _MANY, rng), sorted(_draw(rows["user_id"], _SOME, rng))
    beginning = _draw(rows["run_id"], 1, rng)[0][:3]
    failed, chosen = leaf("EQ", "status", "ERROR"), leaf("IN", "user_id", users)
    slow = leaf("GT", "duration_ms", 5_000)
    week = all_of(*(leaf(op, "start_time", moment) for op, moment in (("GTE", _days(14)), ("LT", _days(7)))))
    weather, run = leaf("CONTAINS", "name", "Weather", ignore_case=False), leaf("STARTSWITH", "run_id", beginning)
    return [
        Condition("status EQ", failed),
        Condition("status NEQ", leaf("NEQ", "status", "ERROR")),
        Condition("user_id EQ", leaf("EQ", "user_id", users[0])),
        *(Condition(f"trace_id {op}", leaf(op, "trace_id", ids[0])) for op in COMPARISONS),
        Condition(f"user_id IN {_SOME}", chosen),
        Condition(f"trace_id IN {_MANY:,}", leaf("IN", "trace_id", ids)),
        Condition("run_id STARTSWITH", run),
        Condition("name CONTAINS", weather),
        Condition("name CONTAINS, absent", leaf("CONTAINS", "name", _ABSENT, ignore_case=False)),
        Condition("name CONTAINS, case ignored", leaf("CONTAINS", "name", "weather")),
        Condition("trace_id CONTAINS", leaf("CONTAINS", "trace_id", ids[1][5:9], ignore_case=False)),
        Condition("user_id EXISTS", {"op": "EXISTS", "key": "user_id"}),
        Condition("AND of 3", all_of(week, failed, slow)),
        Condition("AND of 3 texts", all_of(failed, chosen, run)),
        Condition("OR of 3", any_of(failed, slow, week)),
        Condition("NOT in AND of 4", all_of(negated(failed), week, negated(chosen), weather)),
        Condition("OR of two ANDs", any_of(all_of(failed, slow), all_of(week, chosen, weather))),
        Condition("AND of 6", all_of(week, weather, negated(failed), {"op": "EXISTS", "key": "user_id"}, slow, run)),
    ]


def _days(ago: int) -> str:
    return (LATEST.replace(tzinfo=None) - timedelta(days=ago)).isoformat()


def _draw(column: pa.ChunkedArray, count: int, rng: np.random.Generator) -> list[str]:
    """Returns different values of a column, none of them missing; fewer if there are not so many."""
    known = column.drop_null().unique()
    return [known[int(index)].as_py() for index in rng.permutation(len(known))[:count]]
