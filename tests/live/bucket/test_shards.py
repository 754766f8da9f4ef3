"""A sharded store in a bucket: kills, readers, commands, and shards that move to another machine."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import pytest

from spanwise import TraceStore
from spanwise.errors import ConfigurationError
from spanwise.settings import Settings
from spanwise.traces.search import queries
from spanwise.traces.store_options import follow_store, open_store
from support.clients.otlp import export_request
from support.in_process.commands import spanwise
from support.in_process.stores import EVERYTHING, ingest
from support.services.cluster import shard_processes, with_ray
from support.services.process import RunningService
from support.services.searches import Searches, send

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("reach")
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def settings(url: str, tmp_path: Path) -> Settings:
    return Settings(data_dir=url, shards=3, cache_dir=str(tmp_path / "cache"))


def test_a_service_of_shards_loses_nothing_when_it_is_killed(tmp_path: Path, url: str) -> None:
    flags = ("--data-dir", url, "--shards", "3", "--cache-dir", str(tmp_path / "cache"))
    trace_ids = [f"{number:032x}" for number in range(1, 31)]
    for kill in range(3):
        with RunningService(tmp_path / "data", *flags) as service:
            for trace_id in trace_ids[10 * kill : 10 * kill + 10]:
                export = export_request(trace_id, "00000000000000a1", "00000000000000a2")
                service.http.post("/v1/traces", content=export, headers=JSON).raise_for_status()
            assert sorted(service.trace_ids()) == trace_ids[: 10 * kill + 10]
    with RunningService(tmp_path / "data", *flags) as service:
        assert sorted(service.trace_ids()) == trace_ids
        assert service.stop() == 0


def test_every_writer_of_a_bucket_has_the_same_shards(settings: Settings, url: str) -> None:
    open_store(settings.trace_store, settings).close()
    store = open_store(settings.trace_store, Settings(data_dir=url, cache_dir=settings.cache_dir))
    ingest(store, *range(1, 21))
    assert store.query(queries.runs(EVERYTHING, 1, 100)).total == 20
    store.close()
    with pytest.raises(ConfigurationError, match="has format 1000000"):
        TraceStore.open(settings.trace_store)


def test_a_reader_of_a_bucket_knows_what_all_shards_have(settings: Settings) -> None:
    writer = open_store(settings.trace_store, settings)
    ingest(writer, *range(1, 21))
    reader = follow_store(settings.trace_store, settings)
    assert reader.query(queries.runs(EVERYTHING, 1, 100)).total == 20
    reader.close()
    writer.close()


def test_the_commands_know_shards_in_a_bucket(settings: Settings, tmp_path: Path, url: str) -> None:
    store = open_store(settings.trace_store, settings)
    ingest(store, *range(1, 21))
    store.close()
    assert json.loads(spanwise("check", url, "--json"))["wal_objects"] >= 3
    assert len(json.loads(spanwise("search", url, "{}", "--json"))["data"]) == 20
    spanwise("backup", url, str(tmp_path / "copy"))
    restored = f"{url}-restored"
    spanwise("backup", str(tmp_path / "copy"), restored)
    assert len(json.loads(spanwise("search", restored, "{}", "--json"))["data"]) == 20
    with pytest.raises(AssertionError, match="expected an empty bucket for the copy, found `layout/"):
        spanwise("backup", str(tmp_path / "copy"), restored)


@with_ray
def test_a_shard_in_a_process_of_its_own_is_killed_while_its_follower_answers(tmp_path: Path, url: str) -> None:
    flags = ("--data-dir", url, "--shards", "2", "--cluster", "local", "--followers", "1")
    with RunningService(tmp_path / "data", *flags, "--cache-dir", str(tmp_path / "cache")) as service:
        searches = Searches(service.http, 0)
        send(service.http, searches, 20)
        os.kill(shard_processes(service.process.pid)[0], signal.SIGKILL)
        send(service.http, searches, 20)
        searches.end()
        assert searches.failed == []
        assert len(service.trace_ids()) == searches.stored
        assert service.stop() == 0
