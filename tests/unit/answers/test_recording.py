"""Two recordings of one store agree, and a recording has requests of every kind."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from answers.conditions import operators_of
from answers.fixture import build, load_survey
from answers.questions import Questions
from answers.recording import compare, differences, is_empty, read, record, summary

if TYPE_CHECKING:
    from pathlib import Path

TRACES = 150
SEED = 1
KINDS = 14
EVERY_OPERATOR = 3_000
"""So many requests have every operator on every field."""


@pytest.fixture(scope="module", params=[1, 3], ids=["one store", "shards"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("answers") / "store"
    asyncio.run(build(folder, TRACES, SEED, request.param))
    return folder


def test_two_recordings_agree(store: Path, tmp_path: Path) -> None:
    files = [tmp_path / "one.jsonl", tmp_path / "other.jsonl"]
    for file in files:
        assert asyncio.run(record(store, file, 60, SEED)), "every index was built"
    one, other = (list(read(file)) for file in files)
    result = compare(one, other)
    assert result.is_equal, "\n".join(differences(result))
    assert result.equal.total() == 60
    assert sum(is_empty(each.answer) for each in one) < 30
    assert len(list(summary(one))) >= len(result.equal)
    changed = [replace(each, answer=replace(each.answer, text=each.answer.text + " ")) for each in other]
    assert not compare(one, changed).is_equal
    assert not compare(one, other[:-1]).is_equal


def test_requests_have_every_kind_and_every_operator_on_every_field(store: Path) -> None:
    found = load_survey(store)
    assert any(trace.is_damaged for trace in found.traces)
    kinds: Counter[str] = Counter()
    used: set[tuple[str, str]] = set()
    for request in Questions(Random(SEED), found).draw(EVERY_OPERATOR):
        kinds[request.kind] += 1
        if request.kind != "invalid" and request.body:
            body = json.loads(request.body)
            used |= {pair for name in ("filter", "traces") for pair in operators_of(body.get(name) or {})}
    assert len(kinds) == KINDS
    fields = [*found.fields, *found.span_fields]
    assert {(op, field.key) for field in fields for op in field.operators} <= used
    assert {(axis, "") for axis in found.axes} <= used
