"""The code of a shard process, run in this process."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from spanwise import Filter, TraceStore
from spanwise._engine import RequestSplitter
from spanwise.cluster.ray import actor
from spanwise.cluster.ray.actor import NotOpenError, ShardActor, ShardPlan
from spanwise.cluster.shards.shard import Ask
from spanwise.engine_globals import EngineGlobals
from spanwise.errors import ConfigurationError, StaleLayoutError, StoreLockedError, UnavailableError
from support.clients.otlp import captures, export_request

if TYPE_CHECKING:
    from pathlib import Path

ASK = Ask(1, 1, Filter.compile(b"{}").to_query(), 30.0)


def plan_of(folder: Path) -> ShardPlan:
    return ShardPlan(str(folder), 1, b"{}", EngineGlobals((), None), 256 << 20, None)


def wait_until_open(shard: ShardActor) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            shard.call("stats")
        except NotOpenError:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        else:
            return


def test_an_export_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actor, "_BATCH_BYTES", 2_000)
    store = TraceStore.open(str(tmp_path / "shard"))
    for capture in captures():
        store.ingest(capture.body, capture.content_type, capture.content_encoding)
    expected = b"".join(store.export(Filter.compile(b"{}"), "ndjson"))
    store.close()
    shard = ShardActor(plan_of(tmp_path / "shard"))
    shard.open()
    number, pieces, is_last = shard.begin_export(ASK, "ndjson"), [], False
    while not is_last:
        piece, progress, is_last = shard.read_export(number)
        pieces.append(piece)
    assert len(pieces) > 1
    # A store returns traces in the order in which it read them.
    assert sorted(b"".join(pieces).splitlines()) == sorted(expected.splitlines())
    assert progress[0] == len(expected.splitlines())
    with pytest.raises(UnavailableError, match="restart the export"):
        shard.read_export(number)
    shard.call("close")


def test_every_part_of_a_batch_has_an_outcome_of_its_own(tmp_path: Path) -> None:
    splitter, requests = RequestSplitter([""], 1 << 30), []
    for number in range(1, 5):
        request = splitter.split(export_request(f"{number:032x}", "a" * 16), "application/json")
        ((_, part),) = request.parts
        requests.append((1, request.received, part))
    requests[2] = (2, *requests[2][1:])
    shard = ShardActor(plan_of(tmp_path / "shard"))
    shard.open()
    stored = shard.ingest(actor.write(requests))
    assert isinstance(stored.pop(2), StaleLayoutError)
    assert stored == [(1, 0, "")] * 3
    assert json.loads(shard.call("stats"))["traces"] == 3
    shard.call("close")


def test_exports_that_nobody_reads_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actor, "MAX_DOWNLOADS", 2)
    shard = ShardActor(plan_of(tmp_path / "shard"))
    shard.open()
    first = shard.begin_export(ASK, "ndjson")
    monkeypatch.setattr(actor, "FORGET_SECONDS", 0)
    second = shard.begin_export(ASK, "ndjson")
    monkeypatch.undo()
    monkeypatch.setattr(actor, "MAX_DOWNLOADS", 2)
    third = shard.begin_export(ASK, "ndjson")
    with pytest.raises(UnavailableError, match="restart the export"):
        shard.read_export(second)
    with pytest.raises(UnavailableError, match="more than 2 exports"):
        shard.begin_export(ASK, "ndjson")
    shard.end_export(first)
    for number in (third, shard.begin_export(ASK, "ndjson")):
        assert shard.read_export(number) == (b"", (0, 0, 0), True)
    shard.call("close")


def test_a_store_that_another_process_still_has_is_waited_for(tmp_path: Path) -> None:
    before = TraceStore.open(str(tmp_path / "shard"))
    shard = ShardActor(plan_of(tmp_path / "shard"))
    with pytest.raises(NotOpenError, match="is being opened"):
        shard.call("stats")
    before.close()
    wait_until_open(shard)
    shard.call("close")


def test_a_store_that_another_process_keeps_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actor, "LOCKED_SECONDS", 0.2)
    before = TraceStore.open(str(tmp_path / "shard"))
    with pytest.raises(StoreLockedError):
        ShardActor(plan_of(tmp_path / "shard")).open()
    before.close()


def test_opening_is_tried_again_when_something_is_asked(tmp_path: Path) -> None:
    (tmp_path / "shard").write_text("no folder")
    shard = ShardActor(plan_of(tmp_path / "shard"))
    with pytest.raises(ConfigurationError, match="Not a directory"):
        shard.open()
    (tmp_path / "shard").unlink()
    with pytest.raises(NotOpenError, match="cannot be opened: "):
        shard.call("stats")
    wait_until_open(shard)
    shard.call("close")
