"""The progress of a long operation ends at the total, and restarts for the next operation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from spanwise import Filter, TraceStore
from spanwise.traces import Progress
from support.clients.otlp import export_request

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = Filter.compile(b"null")
TRACES = 16
SEGMENTS = 4


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Returns a store with several segments and with traces in the write-ahead log."""
    url = str(tmp_path / "traces")
    store = TraceStore.open(url)
    for number in range(1, TRACES + 1):
        store.ingest(export_request(f"{number:032x}", "b" * 16, "c" * 16), "application/json")
        if number % (TRACES // SEGMENTS) == 0 and number < TRACES:
            store.flush()
    store.close()
    return url


def test_a_check_reads_each_byte_twice_and_a_copy_once(url: str) -> None:
    progress = Progress()
    assert progress.done_of_total == (0, 0)
    report = json.loads(TraceStore.check(url, progress))
    done, total = progress.done_of_total
    assert total <= 2 * report["bytes"]
    assert done == pytest.approx(2 * report["bytes"], rel=0.2)
    report = json.loads(TraceStore.backup(url, f"{url}-copy", progress))
    done, total = progress.done_of_total
    assert total <= report["bytes"] <= done


def test_an_opening_counts_its_objects(url: str) -> None:
    for opened in (TraceStore.open, TraceStore.open_read_only):
        progress = Progress()
        store = opened(url, progress=progress)
        done, total = progress.done_of_total
        assert done >= total >= SEGMENTS - 1 + TRACES // SEGMENTS
        store.close()


def test_a_deletion_and_a_compaction_count_traces(url: str) -> None:
    progress = Progress()
    store = TraceStore.open(url, progress=progress)
    store.flush()
    assert store.delete(EVERYTHING, dry_run=True) == TRACES
    assert progress.done_of_total == (TRACES, TRACES)
    store.compact(purge=True)
    assert progress.done_of_total == (TRACES, TRACES)
    assert store.delete(EVERYTHING) == TRACES
    assert progress.done_of_total == (2 * TRACES, 2 * TRACES)
    store.close()


@pytest.mark.parametrize("form", ["parquet", "arrow", "otlp", "ndjson"])
def test_a_download_counts_what_it_read_and_what_it_passed(url: str, form: str) -> None:
    store = TraceStore.open_read_only(url)
    one = Filter.compile(json.dumps({"op": "EQ", "key": "trace_id", "value": f"{7:032x}"}).encode())
    for condition, matching in ((EVERYTHING, TRACES), (one, 1)):
        download = store.export(condition, form)
        seen = [download.progress, *(download.progress for _ in download), download.progress]
        assert seen == sorted(seen)
        assert seen[-1] == (matching, TRACES, TRACES)
    store.close()
