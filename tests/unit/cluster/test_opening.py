"""Sharded stores as services and commands open them."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from spanwise import TraceStore
from spanwise.cli import commands
from spanwise.cluster.store import ShardedStore
from spanwise.errors import ConfigurationError, StoreError, StoreLockedError
from spanwise.settings import Settings
from spanwise.traces.admin import ExistingStore, backup_store, check_store
from spanwise.traces.read_only import export_traces, find_trace
from spanwise.traces.search import queries
from spanwise.traces.store_options import follow_store, not_ready, open_store
from support.in_process.stores import EVERYTHING, ingest


def settings_of(folder: Path, shards: int = 1) -> Settings:
    return Settings(data_dir=str(folder), shards=shards)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Returns the settings of a closed store of four shards with 20 traces."""
    settings = settings_of(tmp_path / "data", 4)
    store = open_store(settings.trace_store, settings)
    ingest(store, *range(1, 21))
    store.close()
    return settings


def test_a_store_keeps_its_shards(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    for shards in (1, 4, 8):
        own = Settings(data_dir=settings.data_dir, shards=shards)
        store = open_store(own.trace_store, own)
        assert isinstance(store, ShardedStore)
        assert store.delete(EVERYTHING, dry_run=True) == 20
        assert not_ready(store, own.trace_store, own) is None
        store.close()
    assert [record.message for record in caplog.records] == [
        f"the store in `{settings.trace_store}` keeps its 4 shards: `shards` is 8"
    ]


def test_folders_are_the_owners_alone(settings: Settings) -> None:
    for folder in [path for path in Path(settings.data_dir).rglob("*") if path.is_dir()]:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_store_from_before_is_guarded_as_it_is_opened(settings: Settings) -> None:
    guard = Path(settings.trace_store) / "manifest" / "00000000000000000001.json"
    guard.unlink()
    own = settings_of(Path(settings.data_dir))
    open_store(own.trace_store, own).close()
    with pytest.raises(ConfigurationError, match="has format 1000000"):
        TraceStore.open(own.trace_store)


def test_a_store_that_is_not_divided_stays_whole(tmp_path: Path) -> None:
    whole = settings_of(tmp_path)
    open_store(whole.trace_store, whole).close()
    divided = settings_of(tmp_path, 4)
    with pytest.raises(ConfigurationError, match="is not divided, and `shards` is 4: expected 1"):
        open_store(divided.trace_store, divided)


def test_a_second_writer_opens_no_shard(settings: Settings) -> None:
    store = open_store(settings.trace_store, settings)
    with pytest.raises(StoreLockedError):
        open_store(settings.trace_store, settings)
    store.close()
    open_store(settings.trace_store, settings).close()


def test_a_shard_that_does_not_open_leaves_the_others_closed(settings: Settings, tmp_path: Path) -> None:
    shards = sorted((tmp_path / "data" / "traces" / "shards").iterdir())
    held = TraceStore.open(str(shards[2]))
    with pytest.raises(StoreLockedError):
        open_store(settings.trace_store, settings)
    for shard in (shards[0], shards[1], shards[3]):
        TraceStore.open(str(shard)).close()
    held.close()


def test_a_reader_knows_what_all_shards_have(settings: Settings) -> None:
    writer = open_store(settings.trace_store, settings)
    reader = follow_store(settings.trace_store, settings)
    assert reader.query(queries.runs(EVERYTHING, 1, 100)).total == 20
    assert reader.as_of is not None
    assert writer.as_of is None
    reader.close()
    writer.close()


def test_a_reader_of_shards_comes_after_their_writer(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, 2)
    with pytest.raises(StoreError, match="start its writer before this reader"):
        follow_store(settings.trace_store, settings)


def test_commands_do_each_shard_in_turn(settings: Settings, tmp_path: Path) -> None:
    assert find_trace(settings, f"{7:032x}") is not None
    download = export_traces(settings, b"null", "ndjson")
    assert len(b"".join(download).splitlines()) == 20
    assert download.progress[0] == 20
    with ExistingStore(settings) as store:
        assert store.delete(b'{"op": "LT", "key": "trace_id", "value": "%032x"}' % 11) == 10
        store.compact(purge=True)
        assert (store.size().traces, store.size().segments) == (10, 4)
    assert check_store(settings.trace_store)["sealed_traces"] == 10
    copy = settings_of(tmp_path / "copy")
    assert backup_store(settings.trace_store, copy.trace_store)["segments"] == 4
    with ExistingStore(copy) as store:
        assert store.count(b"null") == 10
    with pytest.raises(ConfigurationError, match="expected an empty folder"):
        backup_store(settings.trace_store, copy.trace_store)


def test_spans_are_imported_into_the_shards_of_their_traces(settings: Settings, tmp_path: Path) -> None:
    exported = tmp_path / "traces.parquet"
    exported.write_bytes(b"".join(export_traces(settings, b"null", "parquet")))
    copy = settings_of(tmp_path / "copy", 3)
    open_store(copy.trace_store, copy).close()
    for _again in range(2):
        done = CliRunner().invoke(commands, ["import", copy.data_dir, str(exported), "--json"])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["accepted"] == 20
    store = open_store(copy.trace_store, copy)
    assert store.query(queries.runs(EVERYTHING, 1, 100)).total == 20
    assert all(store.query(queries.trace(EVERYTHING, f"{number:032x}")).total == 1 for number in range(1, 21))
    store.close()


def test_shards_in_processes_need_an_extra(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    own = Settings(data_dir=settings.data_dir, cluster="local")
    with pytest.raises(ConfigurationError, match=r"`cluster` is `local`, which needs .* 'spanwise\[cluster\]'"):
        open_store(own.trace_store, own)
    # A command has the store to itself, and starts no other processes.
    with ExistingStore(own) as store:
        assert store.count(b"null") == 20


def test_a_store_that_is_not_divided_is_in_one_process(tmp_path: Path) -> None:
    settings = Settings(data_dir=str(tmp_path), cluster="local")
    with pytest.raises(ConfigurationError, match="is not divided: expected `shards` to be more than 1"):
        open_store(settings.trace_store, settings)
