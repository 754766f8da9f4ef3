"""Traces are found by any substring of their ids, and only by such substrings."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from spanwise import Filter, TraceStore
from spanwise.traces.search import queries
from support.clients.otlp import export_request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_RANDOM = random.Random(4)
IDS = [f"{_RANDOM.getrandbits(128):032x}" for _ in range(200)]
PIECES = ["", "0", "f0", "abc", "ABC", IDS[0], IDS[1][3:20], IDS[2][31:], "g", "-", "a" * 33]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TraceStore]:
    """A store with a segment of these traces."""
    folder: Path = tmp_path_factory.mktemp("ids")
    opened = TraceStore.open(str(folder))
    for trace_id in IDS:
        opened.ingest(export_request(trace_id, "00000000000000a1"), "application/json")
    opened.flush()
    yield opened
    opened.close()


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_is_found_in_the_ids_that_have_it(store: TraceStore, piece: str) -> None:
    condition = {"op": "CONTAINS", "key": "trace_id", "value": piece}
    expected = sum(piece.lower() in trace_id for trace_id in IDS)
    assert store.query(queries.runs(Filter.compile(condition), 1, 1)).total == expected
    negated = {"op": "NOT", "condition": condition}
    assert store.query(queries.runs(Filter.compile(negated), 1, 1)).total == len(IDS) - expected
