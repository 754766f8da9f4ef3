"""Tails over shards: every change of every shard arrives once, and a position is one number."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.cluster.tail import MAX_REMEMBERED, ShardedTail
from support.clients.otlp import export_request
from support.in_process.stores import EVERYTHING, open_sharded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from spanwise.cluster.store import ShardedStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ShardedStore]:
    opened = open_sharded(tmp_path, 3)
    yield opened
    opened.close()


def test_every_trace_comes_once_and_again_after_a_rewind(store: ShardedStore) -> None:
    feed = store.tail_feed()
    tail = feed.open(EVERYTHING)
    other = feed.open(EVERYTHING.restrict("user_id", "ann"))
    for number in range(1, 30):
        store.ingest(export_request(f"{number:032x}", "00000000000000a1"), "application/json")
    events: list[tuple[int, str, bytes]] = []
    deadline = time.monotonic() + 10
    while len(events) < 29 and time.monotonic() < deadline:
        (own, foreign), _, errors = feed.poll([(tail, 8), (other, 8)])
        events += own
        assert (foreign, errors) == ([], [])
    assert [number for number, _, _ in events] == list(range(1, 30))
    assert {int(json.loads(body)["trace_id"], 16) for _, _, body in events} == set(range(1, 30))
    assert tail.last == 29
    assert tail.rewind(20)
    again: list[tuple[int, str, bytes]] = []
    while len(again) < 9 and time.monotonic() < deadline:
        again += feed.poll([(tail, 50)])[0][0]
    assert [number for number, _, _ in again] == list(range(21, 30))
    assert {body for _, _, body in again} == {body for _, _, body in events[20:]}


@given(shards=st.lists(st.integers(0, 2), max_size=60), back=st.integers(0, 70))
def test_a_position_is_one_of_every_shard(shards: list[int], back: int) -> None:
    tail, numbers = ShardedTail(1, 3), [0, 0, 0]
    positions = [list(numbers)]
    for shard in shards:
        numbers[shard] += 1
        assert tail.add(shard, numbers[shard]) == len(positions)
        positions.append(list(numbers))
    target = len(shards) - back
    assert tail.rewind(target) == (target >= 0)
    assert tail.take_rewound() == (positions[target] if target >= 0 else None)
    assert tail.take_rewound() is None


def test_what_is_not_remembered_cannot_be_gone_back_to() -> None:
    tail = ShardedTail(1, 2)
    for number in range(1, MAX_REMEMBERED + 11):
        tail.add(number % 2, (number + 1) // 2)
    assert not tail.rewind(9)
    assert tail.rewind(10)
    assert tail.take_rewound() == [5, 5]
