"""Draws questions: every operator on every field in turn, then what else is asked."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.bench.peers import NEWEST_FIRST, Sort
from spanwise.bench.questions import DEPTHS, Question
from spanwise.bench.questions.literals import LiteralDraw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from spanwise.bench.peers import Expression

    Draw = Callable[[np.random.Generator], Expression]

COMPARISONS = ("EQ", "NEQ", "GT", "GTE", "LT", "LTE")
_VALUES = (*COMPARISONS, "IN", "EXISTS")
_TEXTS = (*_VALUES, "CONTAINS", "STARTSWITH")
OPERATORS: dict[str, tuple[str, ...]] = {
    "status": ("EQ", "NEQ", "IN", "EXISTS"),
    "duration_ms": _VALUES,
    "start_time": _VALUES,
    **dict.fromkeys(("trace_id", "run_id", "session_id", "user_id", "agent_id", "name"), _TEXTS),
}
"""The operators of each field that the peers hold."""
PAIRS = tuple((key, operator) for key, operators in OPERATORS.items() for operator in operators)
MAX_CONDITIONS = 6
SORTS = (NEWEST_FIRST, Sort(ascending=True), Sort("duration_ms"), Sort("duration_ms", ascending=True))
_ALONE_SHARE, _SESSION_SHARE, _NEWEST_SHARE, _FIRST_SHARE, _USER_SHARE = 0.4, 0.25, 0.7, 0.5, 0.2
_NOT_SHARE, _FOLDED_SHARE, _BOTH = 0.25, 0.15, 0.5


class _Part(NamedTuple):
    """A condition: how it is named, and drawn."""

    title: str
    draw: Draw
    conditions: int


def generate(count: int, rows: pa.Table, seed: int) -> list[Question]:
    """Returns questions, the same ones for the same rows and seed; each pair of field and operator is as frequent.

    Args:
        count: how many.
        rows: the rows that literals are drawn from.
        seed: the seed of the random generator.
    """
    rng = np.random.default_rng([seed, 0x9E57])
    literals = LiteralDraw(rows, seed)
    pairs = _pairs(rng)
    return [_question((seed, number), pairs, literals, rng) for number in range(1, count + 1)]


def _pairs(rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Yields pairs of field and operator: each once in every round of all of them, in random order."""
    for _ in cycle((None,)):
        yield from (PAIRS[int(index)] for index in rng.permutation(len(PAIRS)))


def _question(
    key: tuple[int, int], pairs: Iterator[tuple[str, str]], literals: LiteralDraw, rng: np.random.Generator
) -> Question:
    # Of its own, so that the other questions stay the same whatever is drawn for the literals of one.
    chosen = np.random.default_rng([*key, 0x11E7])
    count = 1 if rng.random() < _ALONE_SHARE else int(rng.integers(2, MAX_CONDITIONS + 1))
    part = _tree([_leaf(*next(pairs), literals, (rng, chosen)) for _ in range(count)], rng)
    is_session = rng.random() < _SESSION_SHARE
    is_newest_first = is_session or rng.random() < _NEWEST_SHARE
    sort = NEWEST_FIRST if is_newest_first else SORTS[int(rng.integers(1, len(SORTS)))]
    depth = DEPTHS[0] if rng.random() < _FIRST_SHARE else DEPTHS[int(rng.integers(1, len(DEPTHS)))]
    user = literals.value("user_id", chosen) if rng.random() < _USER_SHARE else None
    asked = [
        part.title,
        *(["sessions"] if is_session else []),
        *([] if sort == NEWEST_FIRST else [f"by {sort.key}{', least first' if sort.ascending else ''}"]),
        *([] if depth == "first" else [f"{depth} page"]),
        *(["of one user"] if user else []),
    ]
    title = f"{key[1]}: {'; '.join(asked)}"
    return Question(title, part.draw, count, "session" if is_session else "run", sort, depth, user)


def _leaf(
    key: str, operator: str, literals: LiteralDraw, rngs: tuple[np.random.Generator, np.random.Generator]
) -> _Part:
    """Returns a condition on one field; whether it departs from the operator's own way with case is drawn once."""
    rng, chosen = rngs
    is_text = "CONTAINS" in OPERATORS[key]
    departs = is_text and operator in {"EQ", "NEQ", "IN", "CONTAINS", "STARTSWITH"} and rng.random() < _FOLDED_SHARE
    case = {"ignore_case": operator != "CONTAINS"} if departs else {}
    how = f" {'ignoring' if operator != 'CONTAINS' else 'minding'} case" if departs else ""
    given: dict[str, Callable[[np.random.Generator], object]]
    match operator:
        case "EXISTS":
            given = {}
        case "IN":
            given = {"values": literals.listed(key, chosen)}
        case "CONTAINS" | "STARTSWITH":
            given = {"value": literals.piece(key, chosen, is_beginning=operator == "STARTSWITH")}
        case "EQ" | "NEQ":
            given = {"value": literals.value(key, chosen)}
        case _:
            given = {"value": literals.at_share(key, chosen)}

    def draw(own: np.random.Generator) -> Expression:
        return {"op": operator, "key": key} | {name: of(own) for name, of in given.items()} | case

    return _Part(f"{key} {operator}{how}", draw, 1)


def _tree(parts: Sequence[_Part], rng: np.random.Generator) -> _Part:
    """Returns a tree of conditions, in which the outer operator and `NOT` are drawn."""
    if len(parts) == 1:
        (part,) = parts
    else:
        cut = int(rng.integers(1, len(parts)))
        groups = [[part] for part in parts] if rng.random() < _BOTH else [parts[:cut], parts[cut:]]
        part = _joined([_tree(group, rng) for group in groups], "AND" if rng.random() < _BOTH else "OR")
    return _negated(part) if rng.random() < _NOT_SHARE else part


def _joined(parts: Sequence[_Part], word: str) -> _Part:
    def draw(own: np.random.Generator) -> Expression:
        return {"op": word, "conditions": [part.draw(own) for part in parts]}

    return _Part(f"({f' {word} '.join(part.title for part in parts)})", draw, sum(part.conditions for part in parts))


def _negated(part: _Part) -> _Part:
    def draw(own: np.random.Generator) -> Expression:
        return {"op": "NOT", "condition": part.draw(own)}

    return _Part(f"NOT {part.title}", draw, part.conditions)
