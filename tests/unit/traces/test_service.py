"""The service's metrics of its stores, and the owners of its views."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from spanwise import TraceStore
from spanwise.errors import StoreDamagedError, UnavailableError
from spanwise.fair_budget import current_caller
from spanwise.metrics import STORE_GAUGES, Gauge
from spanwise.settings import Settings
from spanwise.traces.service import Traces
from support.clients.otlp import export_request
from support.in_process.stores import ingest, open_sharded

if TYPE_CHECKING:
    from pathlib import Path

FAILING = "spanwise_store_is_merge_failing"


def gauges(traces: Traces) -> dict[str, float]:
    """Returns the value of each gauge of the default store."""
    families = asyncio.run(traces.measure())
    samples = (line.split() for family in families if isinstance(family, Gauge) for line in family.samples())
    return {name.partition("{")[0]: float(value) for name, value in samples if 'db_id="default"' in name}


def test_a_merge_that_fails_is_a_metric(tmp_path: Path) -> None:
    # without indexes, the metrics stay constant during the test
    store = TraceStore.open(str(tmp_path / "traces"), b'{"indexes": []}')
    for number in (1, 2):
        store.ingest(export_request(f"{number:032x}", "00000000000000a1"), "application/json")
        store.flush()
    traces = Traces({"default": store}, Settings())
    before = gauges(traces)
    assert set(before) == {name for name, _ in STORE_GAUGES.values()} - {STORE_GAUGES["lag_seconds"][0]}
    assert before[FAILING] == 0
    documents = min((tmp_path / "traces" / "segments").glob("*/spans.otlp.zst"))
    content = bytearray(documents.read_bytes())
    content[len(content) // 2] ^= 1
    documents.write_bytes(content)
    with pytest.raises(StoreDamagedError, match=documents.name):
        store.compact()
    after = gauges(traces)
    assert {name for name in after if after[name] != before[name]} == {FAILING}
    store.close()


def test_what_the_engine_keeps_is_charged_to_the_caller_that_is_served(tmp_path: Path) -> None:
    traces = Traces({"default": str(tmp_path / "traces")}, Settings())
    served = current_caller.set("user ann")
    view = traces.view(None, "ann")
    current_caller.reset(served)
    assert (view.caller, traces.view(None, None).caller) == ("user ann", "")


def test_each_shard_has_metrics_of_its_own_and_one_that_is_away_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_sharded(tmp_path, 2)
    ingest(store, *range(1, 10))
    traces = Traces({"default": store}, Settings())

    def shown() -> dict[str, float]:
        samples = (line.rsplit(" ", 1) for family in asyncio.run(traces.measure()) for line in family.samples())
        return {name: float(value) for name, value in samples}

    before = shown()
    own = [before[f'spanwise_shard_traces{{db_id="default",shard="{prefix}"}}'] for prefix in "01"]
    assert sum(own) == before['spanwise_store_traces{db_id="default"}'] == 9
    monkeypatch.setattr(store._shards[1], "stats", lambda: (_ for _ in ()).throw(UnavailableError("away")))  # noqa: SLF001
    after = shown()
    assert [after[f'spanwise_shard_is_up{{db_id="default",shard="{prefix}"}}'] for prefix in "01"] == [1, 0]
    assert 'spanwise_shard_traces{db_id="default",shard="0"}' in after
    # A sum without the missing store would be too small.
    assert 'spanwise_store_traces{db_id="default"}' not in after
    store.close()
